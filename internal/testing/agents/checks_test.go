//go:build agents

package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/service/wire"
	"maestro/workers/agent"
)

// A working directory that is missing is a question with its path and what to do. Once it is there, the agent starts.
func TestMissingTargetIsAQuestion(t *testing.T) {
	everyServed(t, func(s *served) {
		missing := filepath.Join(s.target, "missing")
		s.steps(complete)
		session := s.spawn(map[string]any{"workingDirectory": missing})
		question := s.question(session)
		s.shows(missing, "create it")
		if err := os.Mkdir(missing, 0o700); err != nil {
			s.Fatal(err)
		}
		s.run("input", "answer", question.ID, "retry")
		if x := s.ended(session); x.Status != "completed" || x.Run.Number != 1 {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		if s.asked("Answer to your question") {
			s.Error("the agent got the answer to its supervisor's question")
		}
	})
}

// So is a CLI that is not installed, or has no login. The user may give up.
func TestUnusableCLIIsAQuestion(t *testing.T) {
	for what, test := range map[string]struct {
		change func(s *served, settings *agent.Settings)
		shown  func(s *served) []string
	}{
		"missing": {
			func(s *served, settings *agent.Settings) { settings.Path = filepath.Join(s.target, "no-cli") },
			func(s *served) []string { return []string{s.name, filepath.Join(s.target, "no-cli")} },
		},
		"without login": {
			func(s *served, settings *agent.Settings) { settings.Env, s.user = nil, s.TempDir() },
			func(s *served) []string {
				return map[string][]string{
					agent.Claude: {".claude/.credentials.json", "claude setup-token"},
					agent.Codex:  {".codex/auth.json", "codex login"},
					agent.Gemini: {".gemini/oauth_creds.json", "GEMINI_API_KEY"},
				}[s.name]
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			everyCLI(t, func(t *testing.T, name string) {
				s := newServed(t, name)
				settings := s.settings(name)
				test.change(s, &settings)
				s.configure(settings)
				s.begin()
				session := s.spawn(nil)
				question := s.question(session)
				s.shows(test.shown(s)...)
				s.run("input", "answer", question.ID, "give up")
				x := s.ended(session)
				if x.Status != "failed" || !strings.Contains(x.EndReason, "was not started") {
					s.explain(session)
					s.Errorf("it ended as %s", shown(x))
				}
				s.nothingLeft()
			})
		})
	}
}

// shows checks that the inbox has texts.
func (s *served) shows(texts ...string) {
	s.Helper()
	items, err := s.admin.Inbox(s.Context(), wire.InboxFilter{ProjectID: s.project})
	if err != nil {
		s.Fatal(err)
	}
	var all strings.Builder
	for _, item := range items {
		all.WriteString(item.What + " " + item.Message + "\n")
	}
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			s.Errorf("the inbox does not name %s:\n%s", text, all.String())
		}
	}
}
