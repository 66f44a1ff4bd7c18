package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bounded opens a world with these limits.
func bounded(t *testing.T, limits ...string) *world {
	t.Helper()
	w := newWorld(t)
	for _, text := range limits {
		if err := w.Limits.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	w.ledger = newLedger(&w.Limits)
	return w
}

// busy returns the limit that an error is about, "" if it is about none.
func busy(err error) string {
	var p *Problem
	if !errors.As(err, &p) || p.Kind != KindBusy || p.RetryAfter == 0 {
		return ""
	}
	for _, q := range Quotas() {
		if strings.Contains(p.Why, "the limit "+q.Name+" ") {
			return q.Name
		}
	}
	return ""
}

// Quotas apply to every interface: they also limit callers of the service without HTTP.
func TestQuotasHoldWithoutHTTP(t *testing.T) {
	for _, c := range []struct {
		limit string
		call  func(s *stage) error
	}{
		{"session-commands=0.001/1", func(s *stage) error {
			_, err := s.try(s.worker, "report:progress", `{"message":"m"}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"session-bytes=0.001/10", func(s *stage) error {
			_, err := s.try(s.worker, "report:progress", `{"message":"m"}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"session-spawns=0.001/1", func(s *stage) error {
			_, err := s.try(s.lead, "session:spawn", `{"taskIds":["`+s.task+`"]}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"session-creates=0.001/1", func(s *stage) error {
			_, err := s.try(s.lead, "project:create", `{"name":"P"}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"session-questions=1", func(s *stage) error {
			_, err := s.try(s.worker, "report:needs-input", `{"message":"?"}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"project-tasks=3", func(s *stage) error {
			_, err := s.try(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`, fmt.Sprint(s.Head()))
			return err
		}},
		{"session-reads=0.001/1", func(s *stage) error {
			caller := *s.lead
			_, _, err := s.Why(context.Background(), &caller, s.task)
			return err
		}},
		{"session-reads=0.001/1", func(s *stage) error {
			caller := *s.lead
			_, _, err := s.SessionManifest(context.Background(), &caller, s.leadName)
			var p *Problem
			if errors.As(err, &p) && p.Kind == KindNotFound {
				return nil // it has no budget, and was admitted
			}
			return err
		}},
		{"session-waits=1", func(s *stage) error {
			caller := *s.lead // each call has its own budget
			watch, err := s.Watch(context.Background(), &caller, Position{}, WatchFilter{})
			if err == nil {
				s.Cleanup(watch.Close)
			}
			return err
		}},
	} {
		name, _, _ := strings.Cut(c.limit, "=")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				if err := s.Limits.Set(c.limit); err != nil {
					t.Fatal(err)
				}
				s.ledger = newLedger(&s.Limits)
				var err error
				calls := 0
				for err == nil && calls < 5 {
					err = c.call(s)
					calls++
				}
				if busy(err) != name || calls < 2 {
					t.Errorf("call %d: %v", calls, err)
				}
				before := s.Head()
				if err := c.call(s); busy(err) != name || s.Head() != before {
					t.Errorf("the next call: %v", err)
				}
			})
		})
	}
}

// A call that an interface admits counts once, and its commands and reads count against the same accounts.
func TestCallIsAdmittedOnce(t *testing.T) {
	w := bounded(t, "admin-parallel=1", "admin-bodies=100000", "admin-answers=100000")
	c := w.admin()
	a, err := w.Admit(t.Context(), c, Demand{Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Meta = Meta{Key: "k"}
	body := `{"name":"Alpha"}`
	_, err = w.Do(t.Context(), c, Call{
		ID:     "project:create",
		Length: int64(len(body)),
		Body:   func() ([]byte, error) { return []byte(body), nil },
		Drop:   func() {},
	})
	if err != nil {
		t.Errorf("the call that was admitted: %v", err)
	}
	if err := a.AddBodyBytes(90_000); err != nil {
		t.Error(err)
	}
	if err := a.AddBodyBytes(90_000); busy(err) != "admin-bodies" {
		t.Errorf("too long a body: %v", err)
	}
	if err := a.Render(90_000); err != nil {
		t.Error(err)
	}
	if err := a.Render(90_000); busy(err) != "admin-answers" {
		t.Errorf("too long an answer: %v", err)
	}
	a.Free(90_000)
	a.Leave()
	for r, n := range a.credential.used {
		if n != 0 {
			t.Errorf("%d of %s are in use after the call", n, resourceNames[int(rates)+r])
		}
	}
	if n := a.credential.holders.Load(); n != 0 {
		t.Errorf("%d calls still hold the account", n)
	}
	if _, err := w.AdmitNobody(t.Context(), "192.0.2.1"); err != nil {
		t.Error(err)
	}
}

// A long answer, even to a command, is charged to its caller and to the caller's project, so that the next such call
// has to wait.
func TestLongAnswersAreChargedToTheProjectToo(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	c := w.caller(w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, task)).Token)
	for _, demand := range []Demand{{}, {Writes: true}} {
		a, err := w.Admit(t.Context(), c, demand)
		if err != nil {
			t.Fatal(err)
		}
		next := useReads // the budget that the next such call needs
		if demand.Writes {
			next = useCommands
		}
		for _, account := range []*account{a.credential, a.project} {
			for name, pay := range map[string]func(){
				"an answer":   func() { a.Sent(100 * bytesPerUnit) },
				"a long text": func() { a.readText(100 * bytesPerUnit) },
			} {
				a.readBytes = 0
				before := max(account.paid[next], w.ledger.now())
				if pay(); account.paid[next]-before < time.Millisecond {
					t.Errorf("%s is not charged to the %s (writes: %t)", name, classNames[account.class], demand.Writes)
				}
			}
		}
		a.Leave()
	}
}
