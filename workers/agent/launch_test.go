package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"maestro/events"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is out of date (%v); run the test with -update and read the difference:\n%s", name, err, got)
	}
}

// machine is a directory with the programs of the agents, and those of a session.
func machine(t *testing.T) (dir string, launch Launch) {
	t.Helper()
	dir = t.TempDir()
	for _, sub := range []string{"bin", "target", "workspace", "orchestrator", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"claude", "codex", "gemini", "timeout", "agent.sh"} {
		put(t, filepath.Join(dir, "bin", program), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(dir, "bin", program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, Launch{
		SessionID:    "sess_1",
		ProjectID:    "proj_1",
		Workspace:    filepath.Join(dir, "workspace"),
		Target:       filepath.Join(dir, "target"),
		Orchestrator: filepath.Join(dir, "orchestrator"),
		State:        filepath.Join(dir, "workspace", ".state"),
		Prompt:       "<task>Paint the door, @alice.</task>\n",
		System:       "You paint \"doors\" with \\ and \x7f.\n",
		Hook:         []string{"/opt/it's here/maestro", "hook"},
		Environ: []string{
			"PATH=" + filepath.Join(dir, "bin") + ":relative:", "HOME=" + filepath.Join(dir, "home"), "LC_TIME=C",
			"ANTHROPIC_API_KEY=anthropic-key", "OPENAI_API_KEY=openai-key", "GEMINI_API_KEY=gemini-key",
			"MAESTRO_TOKEN=a user's token", "MAESTRO_HOME=/secret", "AWS_SECRET_ACCESS_KEY=aws-key",
			"LD_PRELOAD=evil.so",
		},
		Maestro: "/opt/it's here",
		Temp:    filepath.Join(dir, "workspace", ".tmp"),
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// shown is everything that a launch consists of, with the files below the state.
func shown(t *testing.T, dir string, l Launch, start *Start) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "run %s in %s, output to %s\n", start.Path, start.Dir, start.Output)
	for _, arg := range start.Args {
		fmt.Fprintf(&out, "arg %q\n", arg)
	}
	for _, variable := range start.Env {
		fmt.Fprintf(&out, "env %q\n", variable)
	}
	fmt.Fprintf(&out, "stdin %q\nread-only %q\nread-write %q\n", start.Stdin, start.ReadOnly, start.ReadWrite)
	fmt.Fprintf(&out, "secrets %q\n", start.Secrets)
	fmt.Fprintf(&out, "count turns %t, interrupt %t, patience %s\n", start.CountTurns, start.Interrupt, start.Patience)
	err := filepath.Walk(l.State, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			if err == nil && info.Mode().Perm() != 0o700 {
				t.Errorf("%s has the mode %s", path, info.Mode())
			}
			return err
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		fmt.Fprintf(&out, "file %s\n%s\n", path, read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), dir, "/machine")
}

func prepare(t *testing.T, c Config, name string, l Launch) *Start {
	t.Helper()
	driver, err := c.Driver(name)
	if err != nil {
		t.Fatal(err)
	}
	start, err := driver.Prepare(l)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// The command lines, environments and files of each agent, in each mode, are those that the tests with the real CLIs
// ran.
func TestLaunches(t *testing.T) {
	for name, change := range map[string]func(dir string, l *Launch){
		"default": func(string, *Launch) {},
		"all": func(dir string, l *Launch) {
			l.Model, l.Root, l.Conversation = "a-model", true, "conv-1"
			l.Options = events.AgentOptions{ThinkingMode: "disabled", MaxTurns: 7, PermissionMode: "interactive"}
			l.Skills = []Skill{{"draw", fstest.MapFS{
				"SKILL.md": {Data: []byte("Draw.\n")}, "a/b.md": {Data: []byte("B.\n")},
			}}}
			put(t, filepath.Join(dir, "target", "CLAUDE.md"), "Use brushes.\n")
			put(t, filepath.Join(dir, "home", ".gitconfig"),
				"[core]\n\tx = y\n[user]\n\tname = \"A. User\"\n\temail = a@b.c\n")
		},
		"readonly": func(_ string, l *Launch) { l.Options.PermissionMode = "readOnly" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, agent := range []string{Claude, Codex, Gemini, "mine"} {
				dir, l := machine(t)
				change(dir, &l)
				c := Config{Agents: map[string]Settings{"mine": {
					Command: []string{filepath.Join(dir, "bin", "agent.sh"), "--flag"},
					Prompt:  map[string]string{"all": "file"}[name],
					Env:     map[string]string{"SOME_TOKEN": "value-of-it"},
				}}}
				start := prepare(t, c, agent, l)
				golden(t, "commands/"+agent+"-"+name+".txt", shown(t, dir, l, start))
			}
		})
	}
}

// An agent gets no variable that it does not need, and nobody can give it one of Maestro's.
func TestEnvironmentIsSmall(t *testing.T) {
	dir, l := machine(t)
	c := Config{Agents: map[string]Settings{
		Claude: {PassEnv: []string{}, Env: map[string]string{"ANTHROPIC_BASE_URL": "http://x"}},
		"mine": {
			Command: []string{filepath.Join(dir, "bin", "agent.sh")},
			PassEnv: []string{"MAESTRO_TOKEN", "OPENAI_API_KEY"},
		},
	}}
	for _, agent := range []string{Claude, Codex, Gemini, "mine"} {
		env := "\n" + strings.Join(prepare(t, c, agent, l).Env, "\n") + "\n"
		for _, not := range []string{"MAESTRO_TOKEN", "MAESTRO_HOME", "AWS_", "LD_PRELOAD", "relative"} {
			if strings.Contains(env, not) {
				t.Errorf("%s has %s:%s", agent, not, env)
			}
		}
		for key, of := range map[string]string{
			"ANTHROPIC_API_KEY": "nobody", "OPENAI_API_KEY": Codex + "mine", "GEMINI_API_KEY": Gemini,
		} {
			if has := strings.Contains(env, "\n"+key+"="); has != strings.Contains(of, agent) {
				t.Errorf("%s has %s: %t", agent, key, has)
			}
		}
		if !strings.Contains(env, "\nPATH=/opt/it's here:"+filepath.Join(dir, "bin")+"\n") {
			t.Errorf("maestro is not first in the PATH of %s:%s", agent, env)
		}
	}
}

// What an earlier run left in its directory, even links, is replaced, and nothing outside is written.
func TestPrepareReplacesWhatAnAgentLeft(t *testing.T) {
	for _, agent := range []string{Claude, Codex, Gemini} {
		t.Run(agent, func(t *testing.T) {
			dir, l := machine(t)
			first := prepare(t, Config{}, agent, l)
			want := shown(t, dir, l, first)
			outside := filepath.Join(dir, "outside")
			put(t, filepath.Join(outside, "settings.json"), "untouched")
			for i, path := range first.ReadOnly {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				var err error
				switch i % 2 {
				case 0:
					err = os.Symlink(filepath.Join(outside, "settings.json"), path)
				case 1:
					err = os.MkdirAll(filepath.Join(path, "full"), 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{
				"settings.json", "hooks.json", ".env", ".gemini/extensions/x/gemini-extension.json", ".gemini/.env",
				".gemini/policies/x.toml",
			} {
				path := filepath.Join(l.State, agent, filepath.FromSlash(name))
				if agent != Gemini && strings.HasPrefix(name, ".gemini") {
					continue
				}
				if _, err := os.Lstat(path); err != nil {
					put(t, path, "left")
				}
			}
			got := shown(t, dir, l, prepare(t, Config{}, agent, l))
			if agent == Claude {
				got = strings.Replace(got, "file /machine/workspace/.state/claude/hooks.json\nleft\n", "", 1)
				got = strings.Replace(got, "file /machine/workspace/.state/claude/.env\nleft\n", "", 1)
			}
			got = strings.Replace(got, "file /machine/workspace/.state/codex/settings.json\nleft\n", "", 1)
			got = strings.Replace(got, "file /machine/workspace/.state/gemini/hooks.json\nleft\n", "", 1)
			got = strings.Replace(got, "file /machine/workspace/.state/gemini/settings.json\nleft\n", "", 1)
			if got != want {
				t.Errorf("the second launch is\n%s\nand the first was\n%s", got, want)
			}
			if read(t, filepath.Join(outside, "settings.json")) != "untouched" {
				t.Error("a file outside was written")
			}

			// The directory itself is a link.
			if err := os.RemoveAll(filepath.Join(l.State, agent)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, filepath.Join(l.State, agent)); err != nil {
				t.Fatal(err)
			}
			prepare(t, Config{}, agent, l)
			if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
				t.Errorf("written outside: %v, %v", entries, err)
			}
		})
	}
}

// An agent gets the login of its own CLI, if it needs one, and keeps one that its CLI has renewed.
func TestLogins(t *testing.T) {
	yes, no := true, false
	stored := map[string]string{
		Claude: ".claude/.credentials.json", Codex: ".codex/auth.json", Gemini: ".gemini/oauth_creds.json",
	}
	copied := map[string]string{
		Claude: "claude/.credentials.json", Codex: "codex/auth.json", Gemini: "gemini/.gemini/oauth_creds.json",
	}
	for agent := range stored {
		for _, c := range []struct {
			login *bool
			key   bool
			want  bool
		}{{nil, false, true}, {nil, true, false}, {&no, false, false}, {&yes, true, true}} {
			dir, l := machine(t)
			for other, path := range stored {
				put(t, filepath.Join(dir, "home", path), "login of "+other)
			}
			settings := Settings{Login: c.login}
			if !c.key {
				settings.PassEnv = []string{}
			}
			config := Config{Agents: map[string]Settings{agent: settings}}
			text := shown(t, dir, l, prepare(t, config, agent, l))
			if has := strings.Contains(text, "login of "+agent); has != c.want || strings.Count(text, "login of") > 1 {
				t.Errorf("%s, %+v: has its login: %t, in\n%s", agent, c, has, text)
			}
			if !c.want {
				continue
			}
			own := filepath.Join(l.State, copied[agent])
			put(t, own, "renewed")
			old := filepath.Join(dir, "home", stored[agent])
			info, err := os.Stat(own)
			if err != nil {
				t.Fatal(err)
			}
			before := info.ModTime().Add(-2e9)
			if err := os.Chtimes(old, before, before); err != nil {
				t.Fatal(err)
			}
			prepare(t, config, agent, l)
			if got := read(t, own); got != "renewed" {
				t.Errorf("the renewed login was replaced by %q", got)
			}
			later := info.ModTime().Add(2e9)
			if err := os.Chtimes(old, later, later); err != nil {
				t.Fatal(err)
			}
			prepare(t, config, agent, l)
			if got := read(t, own); got != "login of "+agent {
				t.Errorf("the new login was not copied: %q", got)
			}
		}
	}
}

// What cannot be prepared says why, and what to do.
func TestPrepareFails(t *testing.T) {
	dir, l := machine(t)
	missing := l
	missing.Environ = []string{"PATH=" + filepath.Join(dir, "target")}
	relative, hookless := l, l
	relative.State, hookless.Hook = "state", []string{"maestro"}
	skill := func(name string, files fstest.MapFS) Launch {
		with := l
		with.Skills = []Skill{{name, files}}
		return with
	}
	large := fstest.MapFS{"SKILL.md": {Data: make([]byte, maxSkillFile+1)}}
	linked := fstest.MapFS{"SKILL.md": {Mode: os.ModeSymlink}}
	many := fstest.MapFS{}
	for i := range maxSkillFiles + 1 {
		many[fmt.Sprint("f", i)] = &fstest.MapFile{}
	}
	for _, agent := range []string{Claude, Codex, Gemini} {
		for want, c := range map[string]struct {
			settings Settings
			launch   Launch
		}{
			"no program " + agent + " is in PATH; install it: `npm install -g @": {Settings{}, missing},
			"/none does not exist":           {Settings{Path: "/none"}, l},
			dir + " is not a file":           {Settings{Path: dir}, l},
			"/etc/passwd is not executable":  {Settings{Path: "/etc/passwd"}, l},
			"is not absolute":                {Settings{}, relative},
			"hook has no absolute path":      {Settings{}, hookless},
			`cannot have the name "../x"`:    {Settings{}, skill("../x", nil)},
			`cannot have the name "."`:       {Settings{}, skill(".", nil)},
			"SKILL.md has more than 4194304": {Settings{}, skill("x", large)},
			"SKILL.md is not a file":         {Settings{}, skill("x", linked)},
			"it has more than 500 files":     {Settings{}, skill("x", many)},
		} {
			driver, err := Config{Agents: map[string]Settings{agent: c.settings}}.Driver(agent)
			if err != nil {
				t.Fatal(err)
			}
			start, err := driver.Prepare(c.launch)
			if start != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want: %s", agent, err, want)
			}
			if c.launch.State == missing.State && c.settings.Path != "" && !errors.As(err, new(*MissingError)) {
				t.Errorf("%s: %T", agent, err)
			}
		}
	}
}

// Check finds what would prevent a run.
func TestCheck(t *testing.T) {
	dir, l := machine(t)
	output, failing := "", error(nil)
	run := func(_ context.Context, path string, args, env []string) ([]byte, error) {
		if !filepath.IsAbs(path) || len(args) != 1 || args[0] != "--version" ||
			strings.Contains(strings.Join(env, " "), "KEY") {
			t.Errorf("runs %s %q with %q", path, args, env)
		}
		return []byte(output), failing
	}
	keyless := []string{l.Environ[0], l.Environ[1]}
	for _, c := range []struct {
		version string
		failing error
		environ []string
		want    string
	}{
		{"99.0.0", nil, l.Environ, ""},
		{"99.0.0", nil, keyless, FindingLogin},
		{"0.1.999", nil, l.Environ, FindingVersion},
		{"a version", nil, l.Environ, FindingVersion},
		{"", errors.New("no node"), l.Environ, FindingUnusable},
		{"99.0.0", nil, []string{"PATH=/none"}, FindingMissing},
	} {
		for _, agent := range []string{Claude, Codex, Gemini} {
			output, failing = c.version, c.failing
			driver, err := Config{}.Driver(agent)
			if err != nil {
				t.Fatal(err)
			}
			findings := driver.Check(t.Context(), c.environ, run)
			if c.want == "" {
				if len(findings) != 0 {
					t.Errorf("%s: %+v", agent, findings)
				}
				continue
			}
			if len(findings) != 1 || findings[0].ID != c.want || findings[0].Fix == "" || findings[0].Message == "" {
				t.Errorf("%s, %+v: %+v", agent, c, findings)
			}
		}
	}
	for path, want := range map[string]int{filepath.Join(dir, "bin", "agent.sh"): 0, "/none": 1} {
		driver, err := Config{Agents: map[string]Settings{"mine": {Command: []string{path}}}}.Driver("mine")
		if err != nil {
			t.Fatal(err)
		}
		if findings := driver.Check(t.Context(), nil, run); len(findings) != want {
			t.Errorf("%s: %+v", path, findings)
		}
	}
}

// Each kind of task has its agent.
func TestAuto(t *testing.T) {
	for kind, want := range map[string]string{
		"architecture": Gemini, "design": Gemini, "review": Codex, "fix": Codex, "implementation": Claude, "": Claude,
		"x": Claude,
	} {
		if got := Auto(kind); got != want {
			t.Errorf("%q is for %s, want %s", kind, got, want)
		}
	}
}
