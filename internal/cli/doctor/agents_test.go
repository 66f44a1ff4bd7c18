package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/service/wire"
	"maestro/workers/confine"
	"maestro/workers/preflight"
	"maestro/workers/supervisor"
)

// agentsExamined returns an examination of a machine with a home, on which programs are in PATH, whose version is said,
// and with an agents.json.
func agentsExamined(t *testing.T, a answers, config, version string, programs ...string) *examination {
	t.Helper()
	x := examined(t, a)
	dir := madeHome(t, x)
	bin := t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if config != "" {
		put(t, dir, "agents.json", config)
	}
	x.Env = map[string]string{"PATH": bin, "HOME": t.TempDir()}
	x.machine = machine{
		run: func(context.Context, supervisor.Config, string, []string, []string) ([]byte, error) {
			if version == "" {
				return nil, errors.New("no version")
			}
			return []byte(version + "\n"), nil
		},
		probe: func(context.Context) []confine.Support { return nil },
		free:  func(string) (uint64, bool) { return 1 << 40, true },
	}
	return x
}

// only returns the findings that are of no severity Info.
func only(look func(context.Context, *examination) []Finding) func(context.Context, *examination) []Finding {
	return func(ctx context.Context, x *examination) (wrong []Finding) {
		for _, f := range look(ctx, x) {
			if f.isWrong() {
				wrong = append(wrong, f)
			}
		}
		return wrong
	}
}

func TestAgentsBecomeFindings(t *testing.T) {
	waiting := func(agent, runner string) answers {
		return answers{"/api/sessions": asJSON(t, []map[string]any{{"id": "s", "agent": agent, "runner": runner}})}
	}
	const (
		key  = `{"agents": {"claude": {"env": {"ANTHROPIC_API_KEY": "k"}}}}`
		none = `{"agents": {"claude": {"login": false, "passEnv": []}}}`
	)
	for name, c := range map[string]struct {
		says     answers
		config   string
		version  string
		programs []string
		want     *Kind
	}{
		"nothing installed, nothing needed": {nil, "", "", nil, nil},
		"installed, not logged in, not needed": {
			nil, "", "9.9.9", []string{"claude", "codex", "gemini"}, nil,
		},
		"ready":                     {nil, key, "9.9.9", []string{"claude"}, nil},
		"configured, missing":       {nil, key, "", nil, agentMissing},
		"too old":                   {nil, key, "1.0.0", []string{"claude"}, agentOld},
		"does not start":            {nil, key, "", []string{"claude"}, agentUnusable},
		"not logged in":             {nil, none, "9.9.9", []string{"claude"}, agentLogin},
		"a command that is missing": {nil, `{"agents": {"x": {"command": ["/nowhere/x"]}}}`, "", nil, agentMissing},
		"a command":                 {nil, `{"agents": {"x": {"command": ["/bin/sh"]}}}`, "", nil, nil},
		"invalid":                   {nil, `{"agents": {"x": {}}}`, "", nil, agentsInvalid},
		"no JSON":                   {nil, `{`, "", nil, agentsInvalid},
		"a session waits":           {waiting("codex", "local"), "", "", nil, agentMissing},
		"for the default":           {waiting("", "local"), "", "", nil, agentMissing},
		"for none that is known":    {waiting("other", "local"), "", "", nil, agentMissing},
		"for whoever launches it":   {waiting("codex", ""), "", "", nil, nil},
	} {
		x := agentsExamined(t, c.says, c.config, c.version, c.programs...)
		finds(t, name, x, only(lookAtAgents), c.want)
		checkFindings(t, lookAtAgents(t.Context(), x))
	}
	x := agentsExamined(t, nil, "", "")
	if err := os.WriteFile(filepath.Join(x.dir, "agents.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	finds(t, "open to others", x, only(lookAtAgents), agentsInvalid)
}

// The check before a run probes the hook, and so does doctor.
func TestHookBecomesFinding(t *testing.T) {
	failed := &preflight.Failure{
		Check:   preflight.CheckHook,
		Message: "The hook does not work",
		Fix:     "repair it",
	}
	for name, c := range map[string]struct {
		hook func(context.Context) error
		want *Kind
	}{
		"denies":     {func(context.Context) error { return nil }, nil},
		"fails":      {func(context.Context) error { return failed }, hookBroken},
		"unknown":    {func(context.Context) error { return errors.New("no program") }, hookBroken},
		"not needed": {nil, nil},
	} {
		x := agentsExamined(t, nil, "", "")
		x.machine.hook = c.hook
		finds(t, name, x, lookAtHook, c.want)
	}
	x := agentsExamined(t, nil, "", "")
	x.machine.hook = func(context.Context) error { return failed }
	if found := lookAtHook(t.Context(), x); found[0].What != failed.Message || found[0].Next != failed.Fix {
		t.Errorf("found %+v", found)
	}
}

func TestWorkspacesBecomeFindings(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(x *examination)
		want  *Kind
	}{
		"none yet":     {func(*examination) {}, nil},
		"nobody needs": {func(x *examination) { x.needed, x.workspaces = nil, x.dir }, nil},
		"in the home": {
			func(x *examination) { x.workspaces = filepath.Join(x.dir, "workspaces") },
			workspacesUnusable,
		},
		"a file": {
			func(x *examination) {
				put(t, x.Env["HOME"], "w", "")
				x.workspaces = filepath.Join(x.Env["HOME"], "w")
			}, workspacesUnusable,
		},
		"without HOME": {func(x *examination) { delete(x.Env, "HOME") }, workspacesUnusable},
		"a named place": {
			func(x *examination) { x.Env["MAESTRO_WORKSPACE"] = filepath.Join(x.dir, "w") },
			workspacesUnusable,
		},
		"a full disk": {
			func(x *examination) { x.machine.free = func(string) (uint64, bool) { return 1 << 20, true } },
			workspacesFull,
		},
	} {
		x := agentsExamined(t, nil, "", "")
		x.needed = map[string]string{"claude": "it is configured"}
		c.spoil(x)
		finds(t, name, x, only(lookAtWorkspaces), c.want)
	}
}

// What a running server says counts for its agents, and not what this shell has.
func TestServersPlacesCount(t *testing.T) {
	const key = `{"agents": {"claude": {"env": {"ANTHROPIC_API_KEY": "k"}}}}`
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	said := func(host, path, workspaces string) answers {
		return answers{"/api/runners": asJSON(t, wire.Runners{Runners: []wire.Runner{{
			Name:       "local",
			Host:       host,
			Workspaces: workspaces,
			SearchPath: path,
		}}})}
	}
	elsewhere, work := t.TempDir(), t.TempDir()
	const shells, servers = "PATH of this shell: ", "PATH of the running server: /nowhere"
	put(t, elsewhere, "claude", "")
	if err := os.Chmod(filepath.Join(elsewhere, "claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		says     answers
		admin    bool
		programs []string
		want     *Kind
		// whose is what the finding says of the PATH, dir what the server says of its workspaces.
		whose, dir string
	}{
		"the server's PATH has it":  {says: said(host, elsewhere, work), admin: true, dir: work},
		"no server says":            {admin: true, want: agentMissing, whose: shells},
		"another machine's":         {says: said("x", elsewhere, work), admin: true, want: agentMissing, whose: shells},
		"an auditor may not see it": {says: said(host, elsewhere, work), want: agentMissing, whose: shells},
		"only the shell's has it": {
			says:     said(host, "/nowhere", work),
			admin:    true,
			programs: []string{"claude"},
			want:     agentMissing,
			whose:    servers,
			dir:      work,
		},
	} {
		x := agentsExamined(t, c.says, key, "9.9.9", c.programs...)
		x.admin = c.admin
		finds(t, name, x, only(lookAtAgents), c.want)
		for _, f := range only(lookAtAgents)(t.Context(), x) {
			if !strings.Contains(f.Why, c.whose) {
				t.Errorf("%s: %+v does not say whose PATH it is", name, f)
			}
		}
		found := lookAtWorkspaces(t.Context(), x)
		checkFindings(t, found)
		if len(found) != 1 || found[0].ID != workspaces.ID || !strings.HasSuffix(found[0].What, c.dir) ||
			strings.Contains(found[0].Why, "running server") != (c.dir == work) {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	x := agentsExamined(t, nil, key, "9.9.9")
	x.needed, x.asked = map[string]string{"claude": "it is configured"}, true
	x.runner = &wire.Runner{Workspaces: filepath.Join(x.dir, "workspaces")}
	finds(t, "the server's workspaces are in the home", x, only(lookAtWorkspaces), workspacesUnusable)
}

func TestLayersBecomeFindings(t *testing.T) {
	missing := confine.Support{Layer: confine.Namespaces, Missing: errors.New("it is forbidden here")}
	for name, c := range map[string]struct {
		offers []confine.Support
		needed bool
		runner *wire.Runner
		want   []*Kind
	}{
		"all": {offers: []confine.Support{{Layer: confine.Seccomp}}, needed: true, want: []*Kind{confinement}},
		"some": {
			offers: []confine.Support{{Layer: confine.Seccomp}, missing},
			needed: true,
			want:   []*Kind{confinement, layerMissing},
		},
		"none":            {offers: []confine.Support{missing}, needed: true, want: []*Kind{unconfined, layerMissing}},
		"another system":  {needed: true, want: []*Kind{unconfined}},
		"none, no agents": {want: []*Kind{confinement}},
		"a server that gives them up": {
			offers: []confine.Support{{Layer: confine.Seccomp}},
			runner: &wire.Runner{Name: "local"},
			want:   []*Kind{runnerUnconfined},
		},
		"a server that has more than this shell": {
			needed: true,
			runner: &wire.Runner{Name: "local", Layers: []string{"seccomp"}},
			want:   []*Kind{confinement},
		},
	} {
		x := agentsExamined(t, nil, "", "")
		x.asked, x.runner = true, c.runner
		if c.needed {
			x.needed = map[string]string{"claude": "it is configured"}
		}
		x.machine.probe = func(context.Context) []confine.Support { return c.offers }
		found := lookAtConfinement(t.Context(), x)
		checkFindings(t, found)
		same := len(found) == len(c.want)
		for i := range found {
			same = same && found[i].ID == c.want[i].ID
		}
		if !same {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}
