package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/blank"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
	"maestro/workers/sandbox"
)

const (
	// manifestName is the name of the agent's copy of its manifest, in its workspace.
	manifestName = "manifest.json"
	// checkWithin is how long a program may take to say its version.
	checkWithin = 20 * time.Second
)

// optionsOf returns how a manifest says that the agent is run.
func optionsOf(m *manifest.Manifest) (events.AgentOptions, string) {
	return events.AgentOptions{
		PermissionMode:   string(m.Session.PermissionMode),
		ThinkingMode:     m.Session.ThinkingMode,
		MaxTurns:         m.Session.MaxTurns,
		WorkingDirectory: m.Session.WorkingDirectory,
		Network:          m.Session.Network,
	}, m.Session.Model
}

// modelFor returns the model that an agent is given. Every manifest names one, and the short names are Claude's:
// another agent then uses its own default.
func modelFor(name, model string) string {
	if name == agent.Claude || !slices.Contains([]string{"sonnet", "opus", "haiku"}, model) {
		return model
	}
	return ""
}

// AutoAgent lets Maestro choose the agent by the task.
const AutoAgent = "auto"

// usedBefore notes what earlier runs of the conversation used: some programs count that again.
func (s *supervisor) usedBefore(x *wire.Session) {
	if s.Conversation == "" || x.Usage == nil {
		return
	}
	u := x.Usage.Usage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = agent.Used{
		Turns:      u.Turns,
		Input:      u.InputTokens + u.CachedTokens,
		Cached:     u.CachedTokens,
		Output:     u.OutputTokens + u.ReasoningTokens,
		Reasoning:  u.ReasoningTokens,
		CostMicros: u.CostMicros,
	}
}

// AgentOf returns the name of the agent that runs a session, whose spawn names one or none. The default is Claude; auto
// follows the roles of docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands", by the kind that the
// metadata of the first task names.
func AgentOf(spawned string, m *manifest.Manifest) string {
	switch name := cmp.Or(m.Session.Agent, spawned, agent.Claude); name {
	case AutoAgent:
		var about struct {
			Kind string `json:"kind"`
		}
		if len(m.Tasks) > 0 {
			_ = json.Unmarshal(m.Tasks[0].Metadata, &about) // free, so that it may be anything
		}
		return agent.Auto(about.Kind)
	default:
		return name
	}
}

// placeManifest writes the agent's copy of the manifest into its workspace. The agent can read it, and where the kernel
// allows that, not change it; the server has the original.
func (s *supervisor) placeManifest(content []byte) error {
	root, err := disk.OpenRoot(s.dirs.Workspace)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if there, err := files.Read(root, manifestName, int64(len(content))); err == nil && bytes.Equal(there, content) {
		return nil // a command beside this one has it read-only as long as nobody removes it
	}
	if err := root.RemoveAll(manifestName); err != nil {
		return fmt.Errorf("replace the agent's manifest: %w", err)
	}
	f, err := root.OpenFile(manifestName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return fmt.Errorf("write the agent's manifest: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// skills opens the skills that a manifest names. They are closed at the end of the run.
func (s *supervisor) skills(ids []string) (skills []agent.Skill, err error) {
	for _, id := range ids {
		root, err := s.home.SkillFiles(id)
		if err != nil {
			return nil, &preflight.Failure{
				Check:   preflight.CheckSkills,
				Message: "Skill '" + id + "' cannot be used on this machine: " + err.Error(),
				Fix:     "add it with `maestro skill add <folder> --id " + id + "`, or spawn the session without it",
				Err:     err,
			}
		}
		s.opened = append(s.opened, root)
		skills = append(skills, agent.Skill{Name: id, Files: root.FS()})
	}
	return skills, nil
}

// environment returns the variables with which the agent's maestro finds its session.
func (s *supervisor) environment(strategy events.Strategy) map[string]string {
	env := wire.Environment("", s.ProjectID, s.SessionID, strategy, filepath.Join(s.dirs.Workspace, manifestName))
	delete(env, wire.EnvServerURL)
	env[wire.EnvSocket] = s.socket
	env[wire.EnvWorkspace] = filepath.Dir(s.dirs.Workspace)
	return env
}

// cacheDir is where the tools of an agent keep what they download and build: they may not change the user's caches,
// which the user's own tools trust.
const cacheDir = ".cache"

// caches returns the variables that lead tools to the agent's own caches. Go modules that the user has are read from
// there.
func (s *supervisor) caches(user string) map[string]string {
	dir := filepath.Join(s.dirs.Workspace, cacheDir)
	env := map[string]string{
		"XDG_CACHE_HOME":   dir,
		"npm_config_cache": filepath.Join(dir, "npm"),
		"GOCACHE":          filepath.Join(dir, "go-build"),
		"GOMODCACHE":       filepath.Join(dir, "go-mod"),
	}
	downloaded := filepath.Join(user, "go", "pkg", "mod", "cache", "download")
	if info, err := os.Stat(downloaded); err == nil && info.IsDir() {
		others := os.Getenv("GOPROXY")
		if others == "" {
			others = "https://proxy.golang.org,direct"
		}
		env["GOPROXY"] = "file://" + filepath.ToSlash(downloaded) + "," + others
	}
	return env
}

// secretsIn returns the values of the variables whose names say that they are secret.
func secretsIn(env map[string]string) (secrets []string) {
	for name, value := range env {
		if blank.SecretName(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// addEnvironment adds variables to those of a launch, in place of any with the same name.
func addEnvironment(env []string, more ...map[string]string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(more, func(m map[string]string) bool { _, has := m[name]; return has })
	})
	for _, m := range more {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			env = append(env, name+"="+m[name])
		}
	}
	return env
}

// runBriefly runs a program of an agent that says something about itself. It runs behind the boundary: an agent whose
// target holds the program could have replaced it.
func (s *supervisor) runBriefly(ctx context.Context, path string, args, env []string) ([]byte, error) {
	user, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	policy := s.boundary(user)
	policy.ReadWrite, policy.ReadOnly, policy.Sockets = []string{policy.Temp}, nil, nil
	policy.Exposed = append(policy.Exposed, path, programFiles(path))
	if s.Workspaces != "" {
		policy.Hidden = append(policy.Hidden, s.Workspaces)
	}
	said, err := s.readBehind(ctx, policy, &exec.Cmd{
		Path: path,
		Args: append([]string{path}, args...),
		Env:  env,
		Dir:  policy.Temp,
	}, checkWithin)
	return []byte(said), err
}

// programFiles returns the directory with the files of a program: all packages of npm, where it is one.
func programFiles(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	const modules = string(filepath.Separator) + "node_modules"
	if before, _, isPackage := strings.Cut(path, modules+string(filepath.Separator)); isPackage {
		return before + modules
	}
	return filepath.Dir(path)
}

// newJudge returns the judge of the run's tool calls.
func (s *supervisor) newJudge(user string) *judge {
	return &judge{
		run:  s.Run,
		mode: s.options.PermissionMode,
		dirs: sandbox.Dirs{
			Workspace:   s.dirs.Workspace,
			Target:      s.dirs.Target,
			Home:        user,
			MaestroHome: s.Home,
		},
		decisions: s.decisions,
		mail:      s.mail,
		ask:       s.ask,
		blocked: func(tool, command, reason string) {
			s.Tell("Blocked %s: %s", tool, reason)
			s.records.blocked(tool, command, reason, false)
		},
		seen: func(call agent.HookCall) {
			what := call.Command
			if what == "" {
				what = strings.Join(call.Paths, " ") + string(call.Input)
			}
			s.attention.called(call.Tool, what)
		},
		now: time.Now,
	}
}

// ask asks the user and the session that spawned this one whether the agent may make a call. Without an answer in time,
// it may not; asked again, the same question still waits.
func (s *supervisor) ask(ctx context.Context, question string, patience time.Duration) (allowed bool, reason string) {
	question = s.blank(question)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	input, err := s.inputOf(ctx, question)
	if err == nil {
		s.mail.reserve(input)
		reason, err = s.answerTo(ctx, input)
	}
	if err == nil { // the session ends only once its mail is read
		s.mail.confirm(ctx, input)
	}
	if err != nil {
		return false, "nobody has decided about it in time. Go on with something else, or repeat the call to wait " +
			"for the decision."
	}
	s.mu.Lock()
	delete(s.asked, question)
	s.mu.Unlock()
	if reason == answerAllow {
		return true, ""
	}
	return false, "the answer was: " + reason
}

// inputOf returns the id of a question, which it asks unless that was done. Equal calls that come together ask once,
// and so does a call whose answer was lost.
func (s *supervisor) inputOf(ctx context.Context, question string) (string, error) {
	s.mu.Lock()
	one := s.asked[question]
	if one == nil {
		one = &askedOnce{key: uuid.NewString(), turn: make(chan struct{}, 1)}
		s.asked[question] = one
	}
	s.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-one.turn }()
	if one.input != "" {
		return one.input, nil
	}
	answer, err := s.calls.do(ctx, s.calls.session, "report:needs-input", &commands.Report{
		Message: question, Options: []string{answerAllow, answerDeny},
	}, one.key)
	if err == nil {
		one.input, err = questionOf(answer)
	}
	return one.input, err
}

// askedOnce is a question whether the agent may do something.
type askedOnce struct {
	key string
	// turn is held by whoever asks. input is "" until the server has the question.
	turn  chan struct{}
	input string
}

// The answers to the question whether an agent may do something.
const (
	answerAllow = "allow"
	answerDeny  = "deny"
)

// questionOf returns the question that a command opened.
func questionOf(answer client.Answer) (string, error) {
	if answer.Asked != "" {
		return answer.Asked, nil
	}
	var event struct {
		Data struct {
			InputID string `json:"inputId"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer.Event, &event); err != nil {
		return "", fmt.Errorf("the answer of the server: %w", err)
	}
	if event.Data.InputID == "" {
		return "", errors.New("the answer of the server names no question")
	}
	return event.Data.InputID, nil
}

// observed notes what the agent's output shows.
func (s *supervisor) observed(o agent.Observation) {
	s.attention.heardNow()
	s.Saw(o)
	switch o := o.(type) {
	case agent.Called:
		s.decisions.shown(o.ID, o.Key, o.Tool, o.Summary, o.Ran)
		if o.Key == "" {
			s.attention.called(o.Tool, o.Summary)
		}
	case agent.Returned:
		s.decisions.returned(o.ID, o.Failed)
	case agent.Used:
		s.records.use(o)
		s.count(o)
	case agent.Retrying:
		s.logger.Warn("the model's API fails; the agent tries again", "status", o.Status, "why", o.Reason)
	case agent.Began:
		if o.Conversation == "" {
			return
		}
		if err := s.save(func(is *Saved) { is.Conversation = o.Conversation }); err != nil {
			s.logger.Warn("the agent's conversation is not saved: nobody can resume it after a crash", "why", err)
		}
	case agent.Said, agent.Ended:
	}
}

// count adds up what the run used, and ends an agent that has no limit of turns of its own at the session's.
func (s *supervisor) count(u agent.Used) {
	s.mu.Lock()
	s.used.Turns += u.Turns
	s.used.Input += u.Input
	s.used.Cached += u.Cached
	s.used.Output += u.Output
	s.used.Reasoning += u.Reasoning
	s.turns += u.Turns
	counts := s.countTurns
	s.mu.Unlock()
	if counts && s.spent() {
		s.stop(s.usedUp())
	}
}

// limit gives a launch the turns that are left of the run's: the limit is for all launches of the program together.
func (s *supervisor) limit(launch *agent.Launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	launch.Options.MaxTurns = int(max(int64(s.options.MaxTurns)-s.turns, 0))
}

// spent reports whether the run has a limit of turns, and none is left.
func (s *supervisor) spent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.MaxTurns > 0 && s.turns >= int64(s.options.MaxTurns)
}

// usedUp says why an agent without turns is ended.
func (s *supervisor) usedUp() string {
	return fmt.Sprintf("the agent used up its %d turns", s.options.MaxTurns)
}
