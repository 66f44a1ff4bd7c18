package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// try answers as Try does.
func (w *world) try(by, id, body, key string) (Answer, error) {
	w.t.Helper()
	command, err := commands.Parse(id, []byte(w.fillIn(body)))
	if err != nil {
		return Answer{}, err
	}
	return w.h.Try(Request{
		By:          w.actor(by),
		Command:     command,
		Key:         key,
		TraceParent: "00-1-2-01",
	})
}

// traced is withKey with the trace context that try has.
func (w *world) traced(by, id, body, key string) (Answer, error) {
	w.t.Helper()
	command, err := commands.Parse(id, []byte(w.fillIn(body)))
	if err != nil {
		return Answer{}, err
	}
	return w.h.Do(w.t.Context(), Request{
		By:          w.actor(by),
		Command:     command,
		Key:         key,
		TraceParent: "00-1-2-01",
	})
}

// everyStep returns steps that become events of many types in newWorld.
func everyStep() []step {
	long := strings.Repeat("long ", events.MaxText/5+1)
	return slices.Concat([]step{
		{"admin", "project:update", `{"projectId":"{p}","description":"` + long + `"}`},
		{"w", "task:create", `{"title":"T","description":"` + long + `","initialPrompt":"` + long + `"}`},
		{"o", "task:update", `{"taskId":"{t1}","title":"U"}`},
		{"v", "session:register", `{}`},
		{"w", "report:progress", `{"message":"` + long + `","taskIds":["{t1}"]}`},
		{"w", "session:note", `{"message":"` + long + `"}`},
		{"w", "track-file", `{"file":"a.go"}`},
		{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
		{"o", "session:update", `{"sessionId":"{w}","name":"N"}`},
		{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t2}"}`},
		{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t2}"}`},
		{"v", "session:complete", `{}`},
		{"admin", "task:delete", `{"taskId":"{u1}"}`},
		{"admin", "project:delete", `{"projectId":"{q}"}`},
		{"admin", "project:create", `{"name":"New"}`},
	}, lines)
}

// TestTryIsDo: Try returns byte for byte what Do then returns, also for a retry and "already so", and changes neither
// the log nor the blobs nor the state.
func TestTryIsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes between the two
		w := newWorld(t)
		defer w.h.Close()
		blobs := w.h.config.Blobs.(*fakeBlobs)
		for i, s := range everyStep() {
			if s[0] == "time" {
				w.take(s)
				continue
			}
			by, name, named := strings.Cut(s[0], ">")
			key := fmt.Sprint("try ", i)
			var before string
			w.h.View(func(s *projections.State) { before = encoded(t, s) })
			head, stored := w.log.head(), len(blobs.blobs)
			tried, err := w.try(by, s[1], s[2], key)
			if err != nil || tried.Event == nil || tried.Retried {
				t.Fatalf("%v: %+v, %v", s, tried, err)
			}
			w.h.View(func(s *projections.State) {
				if encoded(t, s) != before {
					t.Fatal("the state changed")
				}
			})
			if w.log.head() != head || len(blobs.blobs) != stored || tried.Sequence != head {
				t.Fatalf(
					"%v: the log grew by %d, the blobs by %d, tried on %d", s, w.log.head()-head,
					len(blobs.blobs)-stored, tried.Sequence,
				)
			}
			done, err := w.traced(by, s[1], s[2], key)
			if err != nil || string(done.Event) != string(tried.Event) || !reflect.DeepEqual(done.Data, tried.Data) {
				t.Fatalf("%v: Try returns\n%s\nand Do\n%s\n%v", s, tried.Event, done.Event, err)
			}
			again, err := w.try(by, s[1], s[2], key)
			if err != nil || !again.Retried || again.Sequence != done.Sequence ||
				string(again.Event) != string(done.Event) {
				t.Fatalf("%v, tried after it was done: %+v, %v", s, again, err)
			}
			if named {
				w.named(name, done.Data)
			}
		}
		if tried, err := w.try(
			"o", "task:complete", `{"taskId":"{t1}","force":true}`, "so",
		); err != nil || tried.Event != nil ||
			tried.Data != nil ||
			tried.Sequence != w.log.head() {
			t.Errorf("already so: %+v, %v", tried, err)
		}
	})
}

// TestTryRefuses: Try returns the same refusal as Do, and does not record it.
func TestTryRefuses(t *testing.T) {
	long := strings.Repeat("x", events.MaxText+1)
	many := `["` + strings.Repeat(strings.Repeat("y", 1<<10)+`","`, 900) + `y"]`
	w := newDenyingWorld(t)
	if _, err := w.traced("w", "session:note", `{"message":"a"}`, "used"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		when step
		key  string
		code commands.Code
	}{
		{"by the table", step{"w", "task:complete", `{"taskId":"{t1}","force":true}`}, "k", commands.CodeNotAllowed},
		{"by the decision", step{"o", "task:reopen", `{"taskId":"{t1}"}`}, "k", commands.CodeRule},
		{"of what is not there", step{"o", "task:complete", `{"taskId":"none"}`}, "k", commands.CodeNotFound},
		{"without a key", step{"o", "task:complete", `{"taskId":"{t1}","force":true}`}, "", commands.CodeInvalid},
		{
			"with what is no key",
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			"a\nb",
			commands.CodeInvalid,
		},
		{
			"a NUL at the end of a long text",
			step{"w", "report:progress", `{"message":"` + long + `\u0000"}`},
			"k",
			commands.CodeInvalid,
		},
		{
			"more than the log takes",
			step{"w", "task:create", `{"title":"x","acceptanceCriteria":` + many + `}`},
			"k",
			commands.CodeTooLarge,
		},
		{
			"a token that is not good",
			step{"token:gone", "task:complete", `{"taskId":"{t1}","force":true}`},
			"k",
			commands.CodeNotAllowed,
		},
		{"a key that was used", step{"w", "session:note", `{"message":"b"}`}, "used", commands.CodeKeyReused},
		{
			"a queue that there is not",
			step{"admin", "queue:push", `{"project":"{p}","queue":"none","taskId":"{t1}"}`},
			"k", commands.CodeNotFound,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			before, head := len(w.store.records(t)), w.log.head()
			_, err := w.try(c.when[0], c.when[1], c.when[2], c.key)
			var tried, done *commands.Refusal
			if !errors.As(err, &tried) || tried.Code != c.code || !tried.Recorded {
				t.Fatalf("tried: %v", err)
			}
			if n := len(w.store.records(t)); n != before || w.log.head() != head {
				t.Errorf("%d records were made", n-before)
			}
			_, err = w.traced(c.when[0], c.when[1], c.when[2], c.key)
			if !errors.As(err, &done) || !reflect.DeepEqual(done, tried) {
				t.Errorf("Try returns %+v\nand Do %+v", tried, done)
			}
		})
	}
	w.t = t
	w.h.Close()
	w.h = open(t, Config{Log: w.log})
	if _, err := w.try("w", "report:progress", `{"message":"`+long+`"}`, "k"); code(err) != commands.CodeTooLarge {
		t.Errorf("a long text without blobs: %v", err)
	}
}

// TestTryTakesNoTurn: Try answers during an append, based on the committed state, with a time that is not before the
// last event's.
func TestTryTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		g := w.log.hold()
		done := make(chan error, 1)
		go func() { _, err := w.do("admin", "session:kill", `{"sessionId":"{w}"}`); done <- err }()
		<-g.reached
		if a, err := w.try("w", "session:note", `{"message":"m"}`, "k"); err != nil || a.Event == nil {
			t.Errorf("while the end of its session is being written: %v", err)
		}
		close(g.open)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, err := w.try("w", "session:note", `{"message":"m"}`, "k"); code(err) != commands.CodeNotAllowed {
			t.Errorf("once the end is committed: %v", err)
		}
		w.pass(-time.Hour)
		a, err := w.try("v", "session:note", `{"message":"m"}`, "k")
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Time time.Time }
		if err := json.Unmarshal(a.Event, &event); err != nil {
			t.Fatal(err)
		}
		w.h.View(func(s *projections.State) {
			if !event.Time.Equal(s.At()) {
				t.Errorf("at %s, and the last event was at %s", event.Time, s.At())
			}
		})
	})
}

// slowCommand is a command whose decision lasts until the test releases it.
type slowCommand struct {
	commands.CompleteTask
	begun, ended chan struct{}
}

func (*slowCommand) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

func (x *slowCommand) Decide(*projections.State, commands.Call) (events.Data, error) {
	close(x.begun)
	<-x.ended
	return nil, nil
}

// TestDryRunDoesNotBlockReaders: a long dry run, and a commit that waits for it, do not block reads.
func TestDryRunDoesNotBlockReaders(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	slow := &slowCommand{begun: make(chan struct{}), ended: make(chan struct{})}
	tried, done := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.h.Try(Request{By: w.actor("admin"), Command: slow, Key: "slow"})
		tried <- err
	}()
	<-slow.begun
	go func() {
		_, err := w.h.Do(
			t.Context(),
			Request{By: commands.Admin(commands.AuthnToken), Command: &commands.CreateProject{Name: "P"}, Key: "other"},
		)
		done <- err
	}()
	// A waiting writer blocks new readers, which shows that it waits.
	free := func(lock *sync.RWMutex) bool {
		if !lock.TryRLock() {
			return false
		}
		lock.RUnlock()
		return true
	}
	for free(&w.h.trials) && free(&w.h.mu) {
		runtime.Gosched()
	}
	if !free(&w.h.mu) {
		t.Error("readers wait for the dry run")
	}
	close(slow.ended)
	for _, answered := range []chan error{tried, done} {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

// A trial after other commands answers as Do does after them, whichever of them are refused, and changes nothing.
func TestTryAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes between the two
		w := newWorld(t)
		defer w.h.Close()
		w.make("parent", "admin", "task:create", `{"project":"{p}","title":"P"}`)
		w.make("child", "admin", "task:create", `{"project":"{p}","title":"C","parentId":"{parent}"}`)
		complete := func(id string) commands.Command {
			command, err := commands.Parse("task:complete", []byte(w.fillIn(`{"taskId":"`+id+`"}`)))
			if err != nil {
				t.Fatal(err)
			}
			return command
		}
		request := Request{By: w.actor("admin"), Command: complete("{parent}"), Key: "k"}
		var refusal *commands.Refusal
		if _, err := w.h.Try(request); !errors.As(err, &refusal) {
			t.Fatalf("a parent of an open task: %v", err)
		}
		if _, err := w.h.Try(request, complete("task_none")); !errors.As(err, &refusal) {
			t.Fatalf("after a refused one: %v", err)
		}
		head := w.headNow()
		tried, err := w.h.Try(request, complete("task_none"), complete("{child}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.headNow(); got != head {
			t.Errorf("the head moved from %v to %v", head, got)
		}
		if _, err := w.h.Do(t.Context(), Request{
			By: request.By, Command: complete("{child}"), Key: request.Key + ":1",
		}); err != nil {
			t.Fatal(err)
		}
		done, err := w.h.Do(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if string(tried.Event) != string(done.Event) {
			t.Errorf("tried\n%s\ndone\n%s", tried.Event, done.Event)
		}
	})
}

// Trying many commands is bounded by their work.
func TestTryAfterOthersIsBounded(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	w.make("parent", "admin", "task:create", `{"project":"{p}","title":"P"}`)
	for range 100 {
		w.must("admin", "task:create", `{"project":"{p}","title":"C","parentId":"{parent}"}`)
	}
	command, err := commands.Parse("task:complete", []byte(w.fillIn(`{"taskId":"{parent}"}`)))
	if err != nil {
		t.Fatal(err)
	}
	request := Request{By: w.actor("admin"), Command: command, Key: "k"}
	var refusal *commands.Refusal
	_, err = w.h.Try(request, slices.Repeat([]commands.Command{command}, batchSteps)...)
	if !errors.As(err, &refusal) || refusal.Code != commands.CodeLimit {
		t.Errorf("%d trials before one: %v", batchSteps, err)
	}
}
