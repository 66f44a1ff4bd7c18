package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// note sends a command that always becomes an event.
func (w *world) note(key string) (Answer, error) {
	w.t.Helper()
	return w.withKey("w", "session:note", `{"message":"`+key+`"}`, key)
}

// gate holds the next append until it is opened.
type gate struct{ reached, open chan struct{} }

// hold makes the log's appends wait at a gate.
func (l *fakeLog) hold() gate {
	g := gate{make(chan struct{}), make(chan struct{})}
	var once sync.Once
	l.when(func(_ uint64, _ []events.Message, append func() error) error {
		once.Do(func() { close(g.reached) })
		<-g.open
		return append()
	})
	return g
}

// together sends n commands while an append is held, and returns their answers in order.
func (w *world) together(n int, send func(i int) (Answer, error)) ([]Answer, []error) {
	w.t.Helper()
	g := w.log.hold()
	var all sync.WaitGroup
	answers, errs := make([]Answer, n), make([]error, n)
	all.Go(func() { answers[0], errs[0] = send(0) })
	<-g.reached
	for i := 1; i < n; i++ {
		all.Go(func() { answers[i], errs[i] = send(i) })
		synctest.Wait() // one after the other
	}
	close(g.open)
	all.Wait()
	w.log.when(nil)
	return answers, errs
}

func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		before := len(w.log.appended())
		answers, errs := w.together(200, func(i int) (Answer, error) { return w.note(fmt.Sprint("n", i)) })
		first := answers[0].Sequence
		for i, a := range answers {
			if errs[i] != nil || a.Sequence != first+uint64(i) {
				t.Fatalf("command %d: sequence %d, %v", i, a.Sequence, errs[i])
			}
		}
		if batches := w.log.appended()[before:]; len(batches) != 2 || len(batches[0]) != 1 || len(batches[1]) != 199 {
			t.Errorf("%d appends for 200 commands", len(batches))
		}
		if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
			t.Errorf("%+v", verdict.Faults)
		}
	})
}

// A single command does not wait for others: the writer sets no timer, and no time passes.
func TestLoneCommandNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.h.Close()
		timers := 0
		w.h = open(t, Config{Log: w.log, After: func(d time.Duration) <-chan time.Time {
			if d <= gatherMost {
				timers++
			}
			return time.After(d)
		}})
		defer w.h.Close()
		begun := time.Now()
		for i := range 50 {
			if _, err := w.note(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if timers != 0 || time.Since(begun) != 0 {
			t.Errorf("%d timers, and %s passed", timers, time.Since(begun))
		}
	})
}

func TestBatchLimits(t *testing.T) {
	for name, c := range map[string]struct {
		n       int
		message string
	}{
		"messages": {2500, "m"},
		"bytes":    {200, strings.Repeat("x", 60<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				before := len(w.log.appended())
				_, errs := w.together(c.n, func(i int) (Answer, error) {
					return w.withKey("w", "session:note", `{"message":"`+c.message+`"}`, fmt.Sprint(i))
				})
				stored, largest := 0, 0
				for _, batch := range w.log.appended()[before:] {
					bytes := 0
					for _, m := range batch {
						bytes += len(m.Body)
					}
					if len(batch) > 1000 || bytes > 4<<20 {
						t.Errorf("a batch of %d messages and %d bytes", len(batch), bytes)
					}
					stored, largest = stored+len(batch), max(largest, len(batch))
				}
				if err := errors.Join(errs...); err != nil || stored != c.n {
					t.Errorf("%d of %d stored, %v", stored, c.n, err)
				}
				if largest < 50 {
					t.Errorf("the largest batch has %d messages", largest)
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.h.Close() }()
		head := w.log.head()
		body := `{"message":"m"}`

		// In the same batch.
		answers, errs := w.together(3, func(i int) (Answer, error) {
			if i == 0 {
				return w.note("first")
			}
			return w.withKey("w", "session:note", body, "k")
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		original := answers[1]
		if original.Retried || !answers[2].Retried || answers[2].Sequence != original.Sequence ||
			string(answers[2].Event) != string(original.Event) {
			t.Errorf(
				"in the same batch: %d %t, %d %t", original.Sequence, original.Retried, answers[2].Sequence,
				answers[2].Retried,
			)
		}
		same := func(when string) {
			t.Helper()
			a, err := w.withKey("w", "session:note", ` { "message" : "m" } `, "k")
			if err != nil || !a.Retried || a.Sequence != original.Sequence ||
				string(a.Event) != string(original.Event) ||
				a.Data == nil {
				t.Errorf("%s: %d %t, %v", when, a.Sequence, a.Retried, err)
			}
			if _, err := w.withKey("w", "session:note", `{"message":"other"}`, "k"); code(
				err,
			) != commands.CodeKeyReused {
				t.Errorf("%s, with another body: %v", when, err)
			}
		}
		same("after the commit")
		// A retry gets its answer although a new command would be refused.
		w.must("admin", "session:kill", `{"sessionId":"{w}"}`)
		same("after the session's end")
		w.h.Close()
		w.h = open(t, Config{Log: w.log})
		same("after a restart")

		if grown := w.log.head() - head; grown != 3 {
			t.Errorf("the log grew by %d, want 3: two notes and the end", grown)
		}

		// Another actor, another project or another command with the same key is another command.
		for _, s := range []step{{"v", "session:note", body}, {"v", "report:progress", body}, {
			"o", "report:progress",
			body,
		}} {
			if a, err := w.withKey(s[0], s[1], s[2], "k"); err != nil || a.Retried {
				t.Errorf("%v: %t, %v", s, a.Retried, err)
			}
		}
		// A refused command, or one that changed nothing, left no event, and is decided again.
		if _, err := w.withKey("o", "task:complete", `{"taskId":"none"}`, "again"); code(err) != commands.CodeNotFound {
			t.Error(err)
		}
		if a, err := w.withKey(
			"o", "task:complete", `{"taskId":"{t1}","force":true}`, "again",
		); err != nil || a.Event == nil ||
			a.Retried {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err := w.withKey(
			"o", "task:complete", `{"taskId":"{t1}","force":true}`, "another",
		); err != nil || a.Event != nil ||
			a.Sequence != w.log.head() {
			t.Errorf("already so: %+v, %v", a, err)
		}
	})
}

// A server of a shared log that is behind does not answer from its old state that a key was used: with what another
// server has acknowledged, the command belongs to another project, where the key is new.
func TestUsedKeysAreConfirmed(t *testing.T) {
	w := newWorld(t)
	first := open(t, Config{Log: w.log, Now: w.now, Shared: true})
	behind := open(t, Config{Log: w.log, Now: w.now, Shared: true})
	w.h = behind
	complete := func(session string) error {
		_, err := w.withKey("w", "session:complete", `{"sessionId":"`+session+`"}`, "key")
		return err
	}
	if err := complete("{w}"); err != nil {
		t.Fatal(err)
	}
	w.h = first
	w.make("q", "admin", "project:create", `{"name":"Other"}`)
	w.make("x", "admin", "session:spawn", `{"project":"{q}","strategy":"queue"}`)
	w.h = behind
	var refusal *commands.Refusal
	if err := complete("{x}"); !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed {
		t.Errorf("a session of a project that another server made is completed: %v", err)
	}
	if err := complete("{t1}"); !errors.As(err, &refusal) || refusal.Code != commands.CodeKeyReused {
		t.Errorf("the key is used again in the same project: %v", err)
	}
}

func TestKeysAreNeeded(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"", strings.Repeat("k", 201), "a\nb", "\xff", "a\x00b"} {
		if _, err := w.withKey("w", "session:note", `{"message":"m"}`, key); code(err) != commands.CodeInvalid {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// Every answer, including "already so" and a refusal, waits until the state that it is based on is durable. If that
// fails, the command is decided again.
func TestAnswersWaitForDurableState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		batches := []gate{{make(chan struct{}), make(chan struct{})}, {make(chan struct{}), make(chan struct{})}}
		n := 0
		w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
			n++
			if n > len(batches) {
				return append()
			}
			g := batches[n-1]
			close(g.reached)
			<-g.open
			if n == 2 {
				return events.ErrConflict // nothing was stored, and no other server wrote
			}
			return append()
		})
		var all sync.WaitGroup
		answers, errs, answered := make([]Answer, 4), make([]error, 4), make([]bool, 4)
		send := func(i int, by, id, body string) {
			all.Go(func() {
				answers[i], errs[i] = w.withKey(by, id, body, fmt.Sprint("k", i))
				answered[i] = true
			})
			synctest.Wait()
		}
		send(0, "w", "session:note", `{"message":"m"}`)
		<-batches[0].reached
		send(1, "admin", "session:kill", `{"sessionId":"{w}"}`)
		send(2, "admin", "session:kill", `{"sessionId":"{w}"}`) // already so, because of the command before
		send(3, "w", "session:note", `{"message":"m"}`)         // refused, because of the command before
		close(batches[0].open)
		<-batches[1].reached
		synctest.Wait()
		if !answered[0] || answered[1] || answered[2] || answered[3] {
			t.Errorf("during the append these were answered: %t", answered)
		}
		close(batches[1].open)
		all.Wait()
		if errs[0] != nil || errs[1] != nil || errs[2] != nil || code(errs[3]) != commands.CodeNotAllowed {
			t.Fatal(errs)
		}
		if answers[1].Event == nil || answers[2].Event != nil || answers[2].Sequence != answers[1].Sequence || n != 3 {
			t.Errorf("killed at %d, already so at %d, after %d appends", answers[1].Sequence, answers[2].Sequence, n)
		}
		if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
			t.Errorf("%+v", verdict.Faults)
		}
	})
}

// If another writer was first, the Handler reads what it wrote, and decides again on that.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		witness := &fakeWitness{}
		w.h.Close()
		w.h = open(t, Config{Log: w.log, Witness: witness})
		other := open(t, Config{Log: w.log})
		defer other.Close()
		command, err := commands.Parse("task:complete", []byte(w.fillIn(`{"taskId":"{t1}","force":true}`)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Do(
			t.Context(),
			Request{By: commands.Admin(commands.AuthnToken), Command: command, Key: "theirs"},
		); err != nil {
			t.Fatal(err)
		}
		// On the old state it would become an event; on the new one it is already so.
		a, err := w.withKey("o", "task:complete", `{"taskId":"{t1}","force":true}`, "ours")
		if err != nil || a.Event != nil || a.Sequence != w.log.head() {
			t.Errorf("%+v, %v", a, err)
		}
		b, err := w.note("after")
		if err != nil || b.Sequence != w.log.head() {
			t.Errorf("%+v, %v", b, err)
		}
		// The other writer's key is known, so its command does not happen twice.
		again, err := w.h.Do(
			t.Context(), Request{By: commands.Admin(commands.AuthnToken), Command: command, Key: "theirs"},
		)
		if err != nil || !again.Retried {
			t.Errorf("%+v, %v", again, err)
		}
		if witness.head().Sequence != b.Sequence {
			t.Errorf("witness at %d", witness.head().Sequence)
		}
		if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
			t.Errorf("%+v", verdict.Faults)
		}
	})
}

// The Handler gives up on a log that always conflicts, and says so.
func TestEndlessConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		before := len(w.log.appended())
		w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrConflict })
		_, err := w.note("n")
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || len(w.log.appended())-before != maxAttempts {
			t.Errorf("%v after %d appends", err, len(w.log.appended())-before)
		}
		w.log.when(nil)
		if _, err := w.note("n"); err != nil {
			t.Errorf("and then: %v", err)
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprint("happened ", happened), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				head, syncs := w.log.head(), w.log.syncs
				first := true
				w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
					if !first {
						return append()
					}
					first = false
					if happened {
						if err := append(); err != nil {
							return err
						}
					}
					return events.ErrUnknown
				})
				a, err := w.note("n")
				if err != nil || a.Sequence != head+1 || w.log.head() != head+1 || a.Retried != happened ||
					a.Event == nil {
					t.Errorf("%d %t, the head is %d, %v", a.Sequence, a.Retried, w.log.head(), err)
				}
				if w.log.syncs == syncs {
					t.Error("an answer was given before the log was synced")
				}
				if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
					t.Errorf("%+v", verdict.Faults)
				}
			})
		})
	}
}

// While the disk is full, or a part of the store cannot be read, commands are refused.
func TestTemporaryFailures(t *testing.T) {
	for name, c := range map[string]struct {
		failure, synced, why error
		next                 string
	}{
		"full, said by the append":       {events.ErrFull, events.ErrFull, events.ErrFull, "make room"},
		"full, seen as a time-out":       {events.ErrUnknown, events.ErrFull, events.ErrFull, "make room"},
		"unreadable, said by the append": {events.ErrUnreadable, nil, events.ErrUnreadable, "every second"},
		"unreadable, seen as a time-out": {events.ErrUnknown, events.ErrUnreadable, events.ErrUnreadable, "second"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				head := w.log.head()
				w.log.when(func(uint64, []events.Message, func() error) error { return c.failure })
				w.log.whenSynced(func() error { return c.synced })
				for i := range 3 {
					_, err := w.note("n")
					var unavailable *UnavailableError
					if !errors.As(err, &unavailable) || !errors.Is(err, c.why) ||
						!strings.Contains(unavailable.Next, c.next) {
						t.Errorf("try %d: %v", i, err)
					}
					if !errors.Is(w.h.Health(), c.why) {
						t.Errorf("healthy: %v", w.h.Health())
					}
				}
				// Refusals are answers too, and cannot be based on a durable state now.
				_, err := w.do("w", "task:complete", `{"taskId":"{t1}","force":true}`)
				if c.synced != nil && code(err) != "" {
					t.Errorf("a refusal was answered while the log's state was unknown: %v", err)
				}
				w.h.View(func(s *projections.State) {
					if s.Head().Sequence != head || s.Task(w.ids["t1"]) == nil {
						t.Error("reads must continue with the committed state")
					}
				})
				w.log.when(nil)
				w.log.whenSynced(nil)
				time.Sleep(doubtEvery + time.Millisecond) // of the bubble's clock
				synctest.Wait()
				if err := w.h.Health(); err != nil {
					t.Errorf("a second after there is room again: %v", err)
				}
				if a, err := w.note("n"); err != nil || a.Sequence != head+1 || a.Retried {
					t.Errorf("%+v, %v", a, err)
				}
			})
		})
	}
}

// A command does not wait for the next check after a second: it tries at once whether the log accepts writes again.
func TestDoubtIsTriedByCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrFull })
		if _, err := w.note("n"); !errors.Is(err, events.ErrFull) {
			t.Fatal(err)
		}
		w.log.when(nil)
		begun := time.Now()
		if _, err := w.note("n"); err != nil || time.Since(begun) != 0 || w.h.Health() != nil {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

func TestDamageIsPermanent(t *testing.T) {
	for name, harm := range map[string]func(w *world){
		"an append that reports read-only": func(w *world) {
			w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrReadOnly })
		},
		"a log that lacks acknowledged events": func(w *world) {
			w.log.when(func(uint64, []events.Message, func() error) error {
				w.log.mu.Lock()
				defer w.log.mu.Unlock()
				w.log.messages = w.log.messages[:3]
				return events.ErrUnknown
			})
		},
		"another writer's event that does not fit the chain": func(w *world) {
			w.log.when(func(uint64, []events.Message, func() error) error {
				w.log.mu.Lock()
				defer w.log.mu.Unlock()
				stranger := w.log.messages[2]
				stranger.Sequence = uint64(len(w.log.messages)) + 1
				w.log.messages = append(w.log.messages, stranger)
				return events.ErrConflict
			})
		},
		"another writer's bytes that are not an event": func(w *world) {
			w.log.when(func(uint64, []events.Message, func() error) error {
				w.log.mu.Lock()
				defer w.log.mu.Unlock()
				w.log.messages = append(w.log.messages, events.Message{
					Sequence: uint64(len(w.log.messages)) + 1,
					Body:     []byte("{}"),
				})
				return events.ErrConflict
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				head := w.log.head()
				harm(w)
				if _, err := w.note("n"); !errors.Is(err, events.ErrReadOnly) {
					t.Errorf("the command that found it: %v", err)
				}
				w.log.when(nil)
				if _, err := w.note("m"); !errors.Is(err, events.ErrReadOnly) ||
					!errors.Is(w.h.Health(), events.ErrReadOnly) {
					t.Errorf("the next command: %v, health %v", err, w.h.Health())
				}
				w.h.View(func(s *projections.State) {
					if s.Head().Sequence != head {
						t.Error("the views changed")
					}
				})
			})
		})
	}
}

func TestOpenAgainstWitnesses(t *testing.T) {
	w := newWorld(t)
	var head events.Head
	w.h.View(func(s *projections.State) { head = s.Head() })
	w.h.Close()
	other := events.Head{Sequence: 4, Hash: events.BodyHash([]byte("other"))}
	for _, c := range []struct {
		name     string
		witness  *fakeWitness
		says     []string
		damage   bool
		recorded uint64
	}{
		{"the head", &fakeWitness{seen: head}, nil, false, head.Sequence},
		{"none yet", &fakeWitness{}, nil, false, head.Sequence},
		{"one that cannot be read", &fakeWitness{err: errors.New("gone")}, nil, false, head.Sequence},
		{
			"ahead of the log", &fakeWitness{seen: events.Head{Sequence: 99, Hash: other.Hash}},
			[]string{fmt.Sprintf("the log ends at %d", head.Sequence), "the head file", "99:" + other.Hash.String()},
			true, 99,
		},
		{"another hash", &fakeWitness{seen: other}, []string{"sequence 4", "the head file", other.String()}, true, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, Config{Log: w.log, Witness: c.witness})
			err := h.Health()
			if errors.Is(err, events.ErrReadOnly) != c.damage {
				t.Fatalf("health: %v", err)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			if c.witness.head().Sequence != c.recorded {
				t.Errorf("the witness was told %d, want %d", c.witness.head().Sequence, c.recorded)
			}
			w.h = h
			_, err = w.note(c.name)
			if c.damage != errors.Is(err, events.ErrReadOnly) {
				t.Errorf("a command: %v", err)
			}
			h.View(func(s *projections.State) {
				if s.Head().Sequence < head.Sequence {
					t.Error("there are no views")
				}
			})
			h.Close()
			w.log.mu.Lock()
			w.log.messages = w.log.messages[:head.Sequence]
			w.log.mu.Unlock()
		})
	}
}

func TestSnapshots(t *testing.T) {
	w := newWorld(t)
	w.h.Close()
	saved := &fakeSnapshots{}
	h := open(t, Config{Log: w.log, Snapshots: saved})
	if err := h.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.h = h
	for i := range 5 {
		if _, err := w.note(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	var want string
	var head events.Head
	h.View(func(s *projections.State) { want, head = encoded(t, s), s.Head() })
	h.Close()
	good := saved.saved[head.Sequence-5]
	change := func(edit func(s *events.Snapshot)) events.Snapshot {
		changed := good
		changed.State = append([]byte(nil), good.State...)
		edit(&changed)
		return changed
	}
	for _, c := range []struct {
		name   string
		it     events.Snapshot
		damage string
	}{
		{"good", good, ""},
		{"of another log", change(func(s *events.Snapshot) { s.Genesis[0] ^= 1; s.Hash[0] ^= 1 }), ""},
		{"of an older format", change(func(s *events.Snapshot) { s.Format--; s.State = []byte("?") }), ""},
		{"of a newer format", change(func(s *events.Snapshot) { s.Format++ }), "a newer maestro wrote this log"},
		{"damaged", change(func(s *events.Snapshot) { s.State = s.State[:len(s.State)-1] }), ""},
		{"with another head than it says", change(func(s *events.Snapshot) {
			s.State = []byte(strings.Replace(string(s.State), `"sequence":`, `"sequence":1`, 1))
		}), ""},
		{"with another hash than its state", change(func(s *events.Snapshot) { s.Hash[0] ^= 1 }), ""},
		{"with another sequence than its state", change(func(s *events.Snapshot) { s.Sequence = 999 }), ""},
		{"that the log contradicts", change(func(s *events.Snapshot) {
			was := s.Hash.String()
			s.Hash[0] ^= 1
			s.State = []byte(strings.Replace(string(s.State), was, s.Hash.String(), 1))
		}), "a snapshot saw"},
		{"of an older format, that the log contradicts", change(func(s *events.Snapshot) {
			s.Format--
			s.Hash[0] ^= 1
		}), "a snapshot saw"},
		{"ahead of the log", change(func(s *events.Snapshot) {
			s.Sequence = 999
			s.State = []byte("?")
		}), "the log ends at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(
				t,
				Config{Log: w.log, Snapshots: &fakeSnapshots{saved: map[uint64]events.Snapshot{c.it.Sequence: c.it}}},
			)
			defer h.Close()
			err := h.Health()
			if c.damage == "" && err != nil ||
				c.damage != "" && (!errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), c.damage)) {
				t.Errorf("health: %v", err)
			}
			h.View(func(s *projections.State) {
				if encoded(t, s) != want {
					t.Error("the state differs")
				}
			})
		})
	}
	// A damaged snapshot is skipped in favour of an older valid one; a list that cannot be read counts as empty.
	older := &fakeSnapshots{
		saved: map[uint64]events.Snapshot{
			good.Sequence: good,
			head.Sequence: {
				Head:    head,
				Genesis: good.Genesis,
				Format:  good.Format,
				State:   []byte("x"),
			},
		},
	}
	for _, snapshots := range []*fakeSnapshots{older, {err: errors.New("gone")}} {
		h := open(t, Config{Log: w.log, Snapshots: snapshots})
		h.View(func(s *projections.State) {
			if encoded(t, s) != want || h.Health() != nil {
				t.Error("the state differs")
			}
		})
		h.Close()
	}
}

// The history before a valid snapshot is read in the background, which finds damage in it.
func TestHistoryBeforeASnapshotIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		saved := &fakeSnapshots{}
		w.h.Close()
		h := open(t, Config{Log: w.log, Snapshots: saved})
		if err := h.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.Close()
		w.log.messages[3].Body = []byte(strings.Replace(string(w.log.messages[3].Body), "T3", "T9", 1))
		h = open(t, Config{Log: w.log, Snapshots: saved})
		defer h.Close()
		synctest.Wait()
		var damage *events.DamageError
		if err := h.Health(); !errors.As(err, &damage) || damage.Sequence != 5 {
			t.Errorf("health: %v", err)
		}
	})
}

func TestSnapshotsAreTakenWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.h.Close()
		saved := &fakeSnapshots{}
		w.h = open(t, Config{Log: w.log, Snapshots: saved, SnapshotEvery: 10})
		defer w.h.Close()
		for i := range 25 {
			if _, err := w.note(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		sequences, err := saved.List(t.Context())
		if err != nil || len(sequences) < 2 {
			t.Errorf("%v, %v", sequences, err)
		}
		for _, sequence := range sequences {
			snapshot := saved.saved[sequence]
			state, err := projections.Decode(snapshot.State)
			if err != nil || sequence%10 != 0 || state.Head() != snapshot.Head || state.Genesis() != snapshot.Genesis {
				t.Errorf("the snapshot at %d: %v", sequence, err)
			}
		}
	})
}

func encoded(t testing.TB, s *projections.State) string {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.Context(), Config{}); err == nil {
		t.Error("without a log and a clock")
	}
	broken := &fakeLog{onSync: func() error { return events.ErrFull }}
	if _, err := Open(t.Context(), Config{Log: broken, Now: time.Now, After: time.After}); !errors.Is(
		err, events.ErrFull,
	) {
		t.Errorf("a log that cannot be synced: %v", err)
	}
	unread := newWorld(t).log
	unread.onRead = func() error { return errors.New("the wire is cut") }
	if _, err := Open(t.Context(), Config{Log: unread, Now: time.Now, After: time.After}); err == nil ||
		!strings.Contains(err.Error(), "the wire is cut") {
		t.Errorf("a log that cannot be read: %v", err)
	}
	damaged := newWorld(t).log
	damaged.messages[5].Body = []byte("{}")
	h := open(t, Config{Log: damaged})
	var damage *events.DamageError
	if !errors.As(h.Health(), &damage) || damage.Sequence != 6 {
		t.Errorf("a damaged log opens read-only: %v", h.Health())
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		g := w.log.hold()
		var all sync.WaitGroup
		errs := make([]error, 3)
		all.Go(func() { _, errs[0] = w.note("held") })
		<-g.reached
		all.Go(func() { _, errs[1] = w.note("waiting") })
		synctest.Wait()
		all.Go(w.h.Close)
		all.Go(w.h.Close)
		synctest.Wait()
		close(g.open)
		all.Wait()
		w.h.Close()
		_, errs[2] = w.note("too late")
		if errs[0] != nil {
			t.Errorf("the current batch: %v", errs[0])
		}
		for _, err := range errs[1:] {
			var unavailable *UnavailableError
			if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "stopping") {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestCancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		head := w.log.head()
		g := w.log.hold()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := w.note("first"); err != nil {
				t.Error(err)
			}
		})
		<-g.reached
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := w.h.Do(ctx, Request{By: w.actor("w"), Command: &commands.NoteSession{Message: "m"}, Key: "k"})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait() // it returns although the append still waits
		close(g.open)
		all.Wait()
		synctest.Wait()
		w.log.when(nil)
		if w.log.head() != head+1 {
			t.Errorf("the log grew by %d, although the command was cancelled before its decision", w.log.head()-head)
		}
		if a, err := w.withKey("w", "session:note", `{"message":"m"}`, "k"); err != nil || a.Retried {
			t.Errorf("sent again: %+v, %v", a, err)
		}
	})
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		head := w.log.head()
		if err := w.h.WaitFor(t.Context(), head); err != nil {
			t.Errorf("a sequence that is there: %v", err)
		}
		returned := make(chan error, 2)
		for range 2 {
			go func() { returned <- w.h.WaitFor(t.Context(), head+2) }()
		}
		synctest.Wait()
		if _, err := w.note("one"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(returned) != 0 {
			t.Error("the wait returned too early")
		}
		if _, err := w.note("two"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-returned; err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.h.WaitFor(ctx, head+99); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a sequence that does not come: %v", err)
		}
	})
}

func TestTimeNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.h.Close()
		now := w.now().Add(time.Hour)
		w.h = open(t, Config{Log: w.log, Now: func() time.Time { return now }})
		defer w.h.Close()
		for i, step := range []time.Duration{0, -time.Minute, 90 * time.Second} {
			now = now.Add(step)
			if _, err := w.note(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		var times []time.Time
		for _, m := range w.log.messages[w.log.head()-3:] {
			e, err := events.Decode(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, e.Time)
		}
		if !times[1].Equal(times[0]) || times[2].Sub(times[0]) != 30*time.Second {
			t.Errorf("%v", times)
		}
	})
}

func TestLongTextsGoToTheBlobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.h.Close()
		blobs := &fakeBlobs{}
		w.h = open(t, Config{Log: w.log, Blobs: blobs})
		defer func() { w.h.Close() }()
		exact, long := strings.Repeat("x", events.MaxText), strings.Repeat("ü", events.MaxText/2+1)
		short := w.must("w", "report:progress", `{"message":"`+exact+`"}`)
		if len(blobs.blobs) != 0 || short.Data.(*events.SessionReported).Message != exact {
			t.Error("a text of exactly the limit must stay in the event")
		}
		reported := w.must("w", "report:progress", `{"message":"`+long+`"}`).Data.(*events.SessionReported)
		if blobs.blobs[reported.Blobs["message"]] != long ||
			!strings.HasPrefix(long, strings.TrimSuffix(reported.Message, "…")) ||
			len(reported.Message) > events.PreviewText+4 ||
			!json.Valid([]byte(`"`+reported.Message+`"`)) {
			t.Errorf("%d bytes in the event, blobs %v", len(reported.Message), reported.Blobs)
		}
		created := w.must("w", "task:create",
			`{"title":"x","description":"`+long+`","initialPrompt":"`+long+`"}`).Data.(*events.TaskCreated)
		if blobs.blobs[created.Blobs["description"]] != long || blobs.blobs[created.Blobs["initialPrompt"]] != long {
			t.Errorf("%v", created.Blobs)
		}
		// The same key with another long text that begins alike is another command.
		if _, err := w.withKey("w", "report:progress", `{"message":"`+long+`1"}`, "k"); err != nil {
			t.Fatal(err)
		}
		if a, err := w.withKey("w", "report:progress", `{"message":"`+long+`1"}`, "k"); err != nil || !a.Retried {
			t.Errorf("the same again: %v", err)
		}
		if _, err := w.withKey("w", "report:progress", `{"message":"`+long+`2"}`, "k"); code(
			err,
		) != commands.CodeKeyReused {
			t.Errorf("another end: %v", err)
		}
		if _, err := w.do("w", "report:progress", `{"message":"`+long+`\u0000"}`); code(err) != commands.CodeInvalid {
			t.Errorf("a NUL in a long text: %v", err)
		}
		blobs.err = errors.New("no room")
		var unavailable *UnavailableError
		if _, err := w.do("w", "report:progress", `{"message":"`+long+`"}`); !errors.As(err, &unavailable) {
			t.Errorf("blobs that cannot be written: %v", err)
		}
		w.h.Close()
		w.h = open(t, Config{Log: w.log})
		if _, err := w.do("w", "report:progress", `{"message":"`+long+`"}`); code(err) != commands.CodeTooLarge {
			t.Errorf("no blobs at all: %v", err)
		}
		many := `["` + strings.Repeat(strings.Repeat("y", 1<<10)+`","`, 900) + `y"]`
		if _, err := w.do("w", "task:create", `{"title":"x","acceptanceCriteria":`+many+`}`); code(
			err,
		) != commands.CodeTooLarge {
			t.Errorf("an event larger than the log takes: %v", err)
		}
		if _, err := w.note("and then"); err != nil {
			t.Errorf("the next command after one that was too large: %v", err)
		}
	})
}

// Many callers on a log that fails in every way now and then: every acknowledged event is in the log exactly once. Run
// with -race.
func TestManyCallers(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	n := 0
	w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
		switch n++; n % 5 {
		case 1:
			return events.ErrUnknown
		case 2:
			if err := append(); err != nil {
				return err
			}
			return events.ErrUnknown
		case 3:
			return events.ErrConflict
		}
		return append()
	})
	actor := w.actor("w")
	var all sync.WaitGroup
	var mu sync.Mutex
	at := map[uint64]string{}
	for caller := range 16 {
		all.Go(func() {
			for i := range 25 {
				key := fmt.Sprint(caller, ".", i)
				a, err := w.h.Do(
					context.Background(), Request{By: actor, Command: &commands.NoteSession{Message: key}, Key: key},
				)
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				mu.Lock()
				if at[a.Sequence] != "" {
					t.Errorf("%s and %s are both at %d", key, at[a.Sequence], a.Sequence)
				}
				at[a.Sequence] = key
				mu.Unlock()
				w.h.View(func(s *projections.State) {
					if s.Head().Sequence < a.Sequence {
						t.Errorf("%s was answered before it was committed", key)
					}
				})
			}
		})
	}
	all.Wait()
	for sequence, key := range at {
		if !strings.Contains(string(w.log.messages[sequence-1].Body), `"message":"`+key+`"`) {
			t.Errorf("%s is not at %d", key, sequence)
		}
	}
	if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 || len(at) != 400 {
		t.Errorf("%d answers, %+v", len(at), verdict.Faults)
	}
}

// TestRefusedTextsAreNotStored: a caller without permissions cannot fill the blob store.
func TestRefusedTextsAreNotStored(t *testing.T) {
	w := newWorld(t)
	blobs := w.h.config.Blobs.(*fakeBlobs)
	long := strings.Repeat("x", events.MaxText+1)
	if _, err := w.do("w", "project:create", `{"name":"N","description":"`+long+`"}`); code(
		err,
	) != commands.CodeNotAllowed {
		t.Errorf("got %v", err)
	}
	if len(blobs.blobs) != 0 {
		t.Error("a refused command's text was stored")
	}
	// A command that its caller may use, but that is refused because of its content.
	_, err := w.do("admin", "task:create", `{"title":"T","parentId":"task_none","description":"`+long+`"}`)
	if code(err) == "" || len(blobs.blobs) != 0 {
		t.Errorf("%v, and %d texts were stored", err, len(blobs.blobs))
	}
	w.must("admin", "project:create", `{"name":"N","description":"`+long+`"}`)
	if len(blobs.blobs) != 1 {
		t.Error("a permitted command's text was not stored")
	}
}

// TestRetryOfLongTextWithoutPermission: a retry gets its answer, like any other retry.
func TestRetryOfLongTextWithoutPermission(t *testing.T) {
	w := newWorld(t)
	body := `{"title":"T","description":"` + strings.Repeat("x", events.MaxText+1) + `"}`
	first, err := w.withKey("w", "task:create", body, "long")
	if err != nil {
		t.Fatal(err)
	}
	w.must("admin", "session:delete", `{"sessionId":"{w}"}`)
	again, err := w.withKey("w", "task:create", body, "long")
	if err != nil || again.Sequence != first.Sequence || !again.Retried {
		t.Errorf("the retry: %+v, %v", again, err)
	}
	if _, err := w.withKey("w", "task:create", body, "new"); code(err) != commands.CodeNotAllowed {
		t.Errorf("a new one: %v", err)
	}
}
