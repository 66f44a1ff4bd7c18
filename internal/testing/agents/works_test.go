//go:build agents

package agents_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/testing/mockmodel"
	"maestro/projections"
	"maestro/service/wire"
)

// An agent that the runner launched does its work in the target, confined: it reports, is denied what is forbidden
// before that runs, and completes its session. What it used is known, its key is in nothing that is stored, and nothing
// of it is left.
func TestServedAgentWorks(t *testing.T) {
	everyServed(t, func(s *served) {
		s.say("The key is "+apiKey+".",
			mockmodel.Shell("maestro report progress 'I look at the door'"),
			mockmodel.Shell("echo written > file.txt; env > env.txt"),
			mockmodel.Shell("touch forbidden; mkfs.ext4 -n "+apiKey),
			mockmodel.Shell("echo 'the key: "+apiKey+"'"),
			mockmodel.Shell("maestro report complete 'The door is blue'"),
		)
		session := s.spawn(nil)
		x := s.ended(session)
		if x.Status != "completed" || x.Run.ExitCode == nil || *x.Run.ExitCode != 0 || x.Run.Number != 1 {
			s.explain(session)
			s.Fatalf("it ended as %s", shown(x))
		}
		if x.Run.Runner != wire.LocalRunner || len(x.Run.Layers) == 0 || x.Run.Agent != s.name {
			s.Errorf("the run is %+v", x.Run)
		}
		if s.wrote("file.txt") != "written\n" || s.has("forbidden") {
			s.Errorf("the file has %q, and the forbidden one is there: %t", s.wrote("file.txt"), s.has("forbidden"))
		}
		if env := s.wrote("env.txt"); strings.Contains(env, "MAESTRO_TOKEN") || strings.Contains(env, "MAESTRO_HOME=") {
			s.Errorf("the agent's environment is\n%s", env)
		}
		if !s.asked("TASK-SEEN") || !s.asked("Maestro does not allow this") {
			s.Error("the model was not told its task, or why its call was denied")
		}
		events := s.events(session)
		for _, want := range []string{
			"session.claimed.v1", `"kind":"progress"`, "sandbox.blocked.v1", "mkfs", "session.used.v1",
			`"kind":"complete"`, "session.exited.v1",
		} {
			if !strings.Contains(events, want) {
				s.Errorf("the log has no %s", want)
			}
		}
		var info struct {
			Data struct {
				Usage   projections.UsageView `json:"usage"`
				Blocked int        `json:"blocked"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(s.run("session", "info", session, "--json")), &info); err != nil {
			s.Fatal(err)
		}
		if x := info.Data; x.Usage.InputTokens == 0 || x.Usage.CachedTokens == 0 || x.Usage.OutputTokens == 0 ||
			x.Blocked != 1 {
			s.Errorf("the usage is %+v, and %d were blocked", x.Usage, x.Blocked)
		}
		logs := s.run("session", "logs", session)
		for _, want := range []string{"report progress", "echo written", "The key is [blanked]."} {
			if !strings.Contains(logs, want) {
				s.Errorf("its log has no %s:\n%s", want, logs)
			}
		}
		if decisions := s.run("session", "logs", session, "--of", "decisions"); !strings.Contains(decisions, "mkfs") {
			s.Errorf("the decisions are\n%s", decisions)
		}
		if !strings.HasPrefix(x.Run.LastOutput, "The key is ") {
			s.Errorf("its last output is %q", x.Run.LastOutput)
		}
		s.keyless(session)
		s.nothingLeft()
	})
}

// keyless checks that no stored output of a session, and nothing in the home but the configuration, has the key.
func (s *served) keyless(session string) {
	s.Helper()
	check := func(path string) {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), apiKey) {
			s.Errorf("the key is in %s", path)
		}
	}
	outputs, err := filepath.Glob(filepath.Join(s.workspaces, session, "*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range outputs {
		check(path)
	}
	if err := filepath.WalkDir(s.home, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && entry.Name() != "agents.json" {
			check(path)
		}
		return err
	}); err != nil {
		s.Error(err)
	}
	if strings.Contains(s.log.String(), apiKey) {
		s.Error("the key is in the log of the server")
	}
}
