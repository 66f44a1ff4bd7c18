//go:build agents

package agents_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"maestro/workers/agent"
)

var (
	clis   = flag.String("clis", "", "the directory with the installed agent CLIs: claude, codex and gemini")
	record = flag.Bool("record", false, "write the recorded streams of workers/agent/testdata again")
)

// TestMain lets this program be the hook of the agents that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "hook" {
		hook(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}

// noted is a call that the hook has judged.
type noted struct {
	Call    agent.HookCall
	Allowed bool
}

// hook judges one call: it denies each one whose input has the text `forbidden`. mode says what else it does. It
// appends what it judged to a file.
func hook(mode, log string) {
	content, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	switch mode {
	case "exit":
		os.Exit(1)
	case "silent":
		os.Exit(2)
	case "signal":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "slow":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // not even its own clock goes on
	case "panic":
		panic("a defect in the hook")
	}
	call, err := agent.ParseHook(content)
	answer := call.Denied("this call is forbidden: use another command")
	allowed := err == nil && !bytes.Contains(content, []byte("forbidden"))
	if allowed {
		answer, _ = call.Allowed(strings.TrimPrefix(mode, "judge"))
	}
	line, err := json.Marshal(noted{call, allowed})
	if err != nil {
		os.Exit(1)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(1)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		os.Exit(1)
	}
	_, _ = io.WriteString(os.Stdout, answer.Stdout)
	_, _ = io.WriteString(os.Stderr, answer.Stderr)
	os.Exit(answer.ExitCode)
}

// rig is what one agent needs to run against a scripted model.
type rig struct {
	*testing.T
	*model
	name   string
	driver agent.Driver
	launch agent.Launch
	log    string // of the hook
}

// everyAgent runs a test with each CLI.
func everyAgent(t *testing.T, test func(r *rig)) {
	everyCLI(t, func(t *testing.T, name string) { test(newRig(t, name)) })
}

// everyCLI runs a test with each CLI, beside other tests: a CLI waits more than it works.
func everyCLI(t *testing.T, test func(t *testing.T, name string)) {
	t.Parallel()
	for _, name := range []string{agent.Claude, agent.Codex, agent.Gemini} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

func newRig(t *testing.T, name string) *rig {
	dir := t.TempDir()
	r := &rig{
		T:     t,
		model: newModel(t, name),
		name:  name,
		log:   filepath.Join(dir, "judged"),
	}
	settings := r.settings(name)
	driver, err := agent.Config{Agents: map[string]agent.Settings{name: settings}}.Driver(name)
	if err != nil {
		t.Fatal(err)
	}
	r.driver = driver
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"workspace", "target", "home", "bin", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.launch = agent.Launch{
		Workspace: filepath.Join(dir, "workspace"),
		Target:    filepath.Join(dir, "target"),
		State:     filepath.Join(dir, "workspace", ".state"),
		Prompt:    "<task>Paint the door. Ask @alice. PROMPT-SEEN</task>",
		System:    "You paint doors. Ask @/etc/passwd and @alice. SYSTEM-SEEN",
		Hook:      []string{self, "hook", "judge", r.log},
		Environ: []string{
			"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
			"MAESTRO_TOKEN=a token of the user", "SOMETHING=else",
		},
		Root:    os.Getuid() == 0,
		Maestro: filepath.Join(dir, "bin"),
		Temp:    filepath.Join(dir, "tmp"),
	}
	r.put("../bin/maestro", "#!/bin/sh\necho this is maestro\n")
	if err := os.Chmod(filepath.Join(dir, "bin", "maestro"), 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

// put writes a file of the target.
func (r *rig) put(name, content string) {
	r.Helper()
	path := filepath.Join(r.launch.Target, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.Fatal(err)
	}
}

// has reports whether the target has a file.
func (r *rig) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.launch.Target, name))
	return err == nil
}

// judged returns what the hook was asked.
func (r *rig) judged() (all []noted) {
	r.Helper()
	content, err := os.ReadFile(r.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var n noted
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			r.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// outcome is what a run has shown.
type outcome struct {
	start    *agent.Start
	seen     []agent.Observation
	used     agent.Used
	raw      []byte
	errors   string
	exitCode int
}

// run prepares and runs the agent to its end.
func (r *rig) run(before agent.Used) outcome {
	r.Helper()
	return r.watch(before, func(agent.Observation, *exec.Cmd) {})
}

// watch is run, and calls each with every observation while the agent runs.
func (r *rig) watch(before agent.Used, each func(agent.Observation, *exec.Cmd)) (o outcome) {
	r.Helper()
	start, err := r.driver.Prepare(r.launch)
	if err != nil {
		r.Fatal(err)
	}
	o.start = start
	cmd := exec.CommandContext(r.Context(), start.Path, start.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin = start.Dir, start.Env, bytes.NewReader(start.Stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	reader := r.driver.Reader(before)
	lines := bufio.NewReader(out)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		o.raw = append(o.raw, line...)
		for _, seen := range reader.Read(bytes.TrimSuffix(line, []byte("\n"))) {
			o.seen = append(o.seen, seen)
			if used, ok := seen.(agent.Used); ok {
				o.used.Turns += used.Turns
				o.used.Input += used.Input
				o.used.Cached += used.Cached
				o.used.Output += used.Output
			}
			each(seen, cmd)
		}
	}
	_ = cmd.Wait() // the exit code says it
	o.exitCode, o.errors = cmd.ProcessState.ExitCode(), stderr.String()
	r.Logf("exit code %d\n%s\n%s", o.exitCode, o.raw, o.errors)
	return o
}

// seen returns the observations of one type.
func seen[T agent.Observation](o outcome) (all []T) {
	for _, observation := range o.seen {
		if one, ok := observation.(T); ok {
			all = append(all, one)
		}
	}
	return all
}

// skill is a folder with a SKILL.md.
func skill() agent.Skill {
	return agent.Skill{Name: "blueprint", Files: fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: blueprint\ndescription: SKILL-SEEN how to draw\n---\nDraw.\n")},
		"references/ink.md": {Data: []byte("Blue.\n")},
	}}
}

// program runs a program for Check.
func program(ctx context.Context, path string, args, env []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	return cmd.Output()
}
