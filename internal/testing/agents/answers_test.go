//go:build agents

package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"maestro/internal/testing/mockmodel"
	"maestro/workers/agent"
)

// complete is the last step of most scripts.
var complete = mockmodel.Shell("maestro report complete 'The door is painted'")

// An agent that asks and ends its turn does not wait: its run ends, and the answer begins the next one, in the same
// conversation.
func TestAnswerBeginsNextRun(t *testing.T) {
	everyServed(t, func(s *served) {
		s.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
			switch {
			case len(results) == 0:
				return mockmodel.Shell("maestro report needs-input 'Which colour has the door?'")
			case !s.told("SKY-BLUE"):
				return mockmodel.Step{Text: "I wait for the colour."}
			case len(results) == 1:
				return complete
			}
			return mockmodel.Step{Text: "Done."}
		})
		session := s.spawn(nil)
		question := s.question(session)
		x := s.rests(session, 1)
		if x.EndedAt != nil || x.Run.Status != "" || !x.Run.Waits || x.Run.ExitCode == nil || *x.Run.ExitCode != 0 {
			s.Fatalf("it does not wait: %s", shown(x))
		}
		if left := s.alive(session); len(left) != 0 {
			s.Errorf("the processes %v wait", left)
		}
		s.forget()
		s.run("input", "answer", question.ID, "SKY-BLUE, please")
		x = s.ended(session)
		if x.Status != "completed" || x.Run.Number != 2 || !x.Run.Resumes {
			s.explain(session)
			s.Fatalf("it ended as %s", shown(x))
		}
		if !s.together("TASK-SEEN", "Which colour has the door?", "SKY-BLUE, please") {
			s.Error("the next run does not continue the conversation with the answer")
		}

		s.nothingLeft()
	})
}

// An agent that waits for an answer gets it as the output of its command.
func TestAnswerIsOutput(t *testing.T) {
	everyServed(t, func(s *served) {
		s.steps(
			mockmodel.Shell("maestro report needs-input 'Which colour?' --wait"),
			complete,
		)
		session := s.spawn(nil)
		question := s.question(session)
		s.run("input", "answer", question.ID, "SKY-BLUE")
		if x := s.ended(session); x.Status != "completed" || x.Run.Number != 1 {
			s.explain(session)
			s.Fatalf("it ended as %s", shown(x))
		}
		if !s.asked("SKY-BLUE") {
			s.Error("the command did not print the answer")
		}
	})
}

// A message reaches the agent while it works, with a tool call, once.
func TestMailReachesWorkingAgent(t *testing.T) {
	everyServed(t, func(s *served) {
		begun := s.pipe("begun")
		s.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
			switch {
			case len(results) == 0:
				return mockmodel.Shell("echo > begun")
			case s.told("The door is SKY-BLUE") && strings.Contains(results[len(results)-1].Text, "again "):
				return complete
			case len(results) > 100 || len(results) > 1 && s.told("The door is SKY-BLUE"):
				return mockmodel.Step{Text: "Done."}
			}
			return mockmodel.Shell(fmt.Sprint("echo again ", len(results)))
		})
		session := s.spawn(nil)
		s.read(begun)
		s.run("session", "message", session, "The door is SKY-BLUE")
		if x := s.ended(session); x.Status != "completed" || x.Run.Number != 1 {
			s.explain(session)
			s.Fatalf("it ended as %s", shown(x))
		}
		s.mu.Lock()
		last := s.requests[len(s.requests)-1]
		s.mu.Unlock()
		if n := strings.Count(last, "The door is SKY-BLUE"); n != 1 {
			s.Errorf("the model read the message %d times", n)
		}
	})
}

// An agent that stops without a report is reminded, twice at most.
func TestSilentAgentIsReminded(t *testing.T) {
	everyServed(t, func(s *served) {
		s.say("I stop.")
		kind := map[string]string{agent.Claude: "implementation", agent.Codex: "review", agent.Gemini: "design"}[s.name]
		task := s.made("task:create", map[string]any{
			"project": s.project, "title": "TASK-SEEN", "metadata": map[string]any{"kind": kind},
		})
		session := s.spawn(map[string]any{"agent": "auto", "taskIds": []any{task["taskId"]}})
		x := s.ended(session)
		if x.Status != "failed" || x.Run.Number != 1 || !strings.Contains(x.EndReason, "without") {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		last := s.requests[len(s.requests)-1]
		if n := strings.Count(last, "but your session is not complete"); n != 2 {
			s.Errorf("it was reminded %d times", n)
		}
	})
}

// An agent that is reminded can still complete its session.
func TestRemindedAgentCompletes(t *testing.T) {
	everyServed(t, func(s *served) {
		s.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
			if len(results) == 0 && s.told("but your session is not complete") {
				return complete
			}
			return mockmodel.Step{Text: "I stop."}
		})
		if x := s.ended(s.spawn(nil)); x.Status != "completed" || x.Run.Number != 1 {
			s.Errorf("it ended as %s", shown(x))
		}
	})
}
