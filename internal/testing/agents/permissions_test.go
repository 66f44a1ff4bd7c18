//go:build agents

package agents_test

import (
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/testing/mockmodel"
	"maestro/workers/agent"
)

// An agent that may only read changes nothing in its target, by no tool, and still reports.
func TestReadOnlySessionChangesNothing(t *testing.T) {
	everyServed(t, func(s *served) {
		path := filepath.Join(s.target, "written")
		write := map[string]mockmodel.Step{
			agent.Claude: {Tool: "Write", Arguments: map[string]any{"file_path": path, "content": "x"}},
			agent.Gemini: {Tool: "write_file", Arguments: map[string]any{"file_path": path, "content": "x"}},
			agent.Codex: {
				Tool:      "exec",
				Arguments: "text(await tools.apply_patch(`*** Begin Patch\n*** Add File: written\n+x\n*** End Patch`))",
			},
		}[s.name]
		s.steps(
			mockmodel.Shell("touch written"), mockmodel.Shell("maestro whoami > written"), write,
			mockmodel.Shell("maestro report progress 'I only look'"), complete,
		)
		session := s.spawn(map[string]any{"permissionMode": "readOnly"})
		x := s.ended(session)
		if x.Status != "completed" || s.has("written") {
			s.explain(session)
			s.Errorf("it wrote: %t, and ended as %s", s.has("written"), shown(x))
		}
		if !strings.Contains(s.events(session), `"kind":"progress"`) {
			s.Error("it did not report")
		}
	})
}

// Each call of an agent in interactive mode is a question: allowed, it runs; denied, the model reads the reason.
func TestInteractiveCallsAreQuestions(t *testing.T) {
	everyServed(t, func(s *served) {
		s.steps(mockmodel.Shell("touch allowed"), mockmodel.Shell("touch denied"), complete)
		session := s.spawn(map[string]any{"permissionMode": "interactive"})
		question := s.question(session)
		if inbox := s.run("inbox", "--project", s.project); !strings.Contains(inbox, "touch allowed") {
			s.Errorf("the inbox has no such question:\n%s", inbox)
		}
		if s.has("allowed") {
			s.Error("the call ran before it was allowed")
		}
		s.run("input", "answer", question.ID, "allow")
		question = s.question(session)
		if !strings.Contains(question.Question, "touch denied") || !s.has("allowed") {
			s.Errorf("it asks %q, and the allowed call ran: %t", question.Question, s.has("allowed"))
		}
		s.run("input", "answer", "--other", question.ID, "deny: the door is WET-PAINT")
		if x := s.ended(session); x.Status != "completed" || x.Run.Number != 1 {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		if s.has("denied") || !s.asked("WET-PAINT") {
			s.Errorf("the denied call ran: %t, or the model was not told why", s.has("denied"))
		}
	})
}

// An agent that has used up its turns is ended, and its session says so.
func TestTurnsEndTheRun(t *testing.T) {
	everyServed(t, func(s *served) {
		step := mockmodel.Shell("echo again")
		s.steps(step, step, step, step, step, step)
		session := s.spawn(map[string]any{"maxTurns": 2})
		x := s.ended(session)
		if x.Status != "failed" || !strings.Contains(x.Run.Reason, "turns") {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		s.nothingLeft()
	})
}
