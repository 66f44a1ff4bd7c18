package service

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/commands"
)

// TestWhyOfATaskInManyQueuesIsBounded: it shows a few queues, first those with open items, counts the others, reads
// each event once, and is charged for that.
func TestWhyOfATaskInManyQueuesIsBounded(t *testing.T) {
	s := newStage(t)
	log := &leavingLog{memoryLog: s.log}
	s.Service.Log = log
	told := int(commands.LimitWhyQueues.Value)
	queues := 3 * told
	for i := range queues {
		queue := fmt.Sprintf(`"project":"%s","queue":"q%03d"`, s.alpha, i)
		s.do(s.admin(), "queue:create", `{`+queue+`}`)
		s.do(s.admin(), "queue:push", `{`+queue+`,"taskId":"`+s.task+`"}`)
	}
	last := fmt.Sprintf("q%03d", queues-1)
	puller := s.caller(s.do(s.admin(), "session:spawn",
		`{"project":"`+s.alpha+`","strategy":"queue","queue":"`+last+`","taskIds":["`+s.task+`"]}`).Token)
	s.do(puller, "queue:start", `{}`)

	s.ledger.quotas[ClassReader][useReads] = Quota{Name: "reader-reads", Value: 0.001, Burst: 100}
	caller := *s.readAlpha
	a, err := s.Admit(t.Context(), &caller, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	before := s.ledger.left(a.credential, useReads)
	log.read = 0
	why, _, err := s.Why(t.Context(), &caller, s.task)
	if err != nil {
		t.Fatal(err)
	}
	const alone = 2 // the task's status, and the report on it
	if len(why.Chains) != told+alone || why.ChainsMore != queues-told {
		t.Errorf("of %d queues it tells %d and counts %d", queues, len(why.Chains)-alone, why.ChainsMore)
	}
	if first := why.Chains[alone].What; !strings.HasSuffix(first, "is processing in queue "+last) {
		t.Errorf("the first queue is that %s", first)
	}
	if most := told + 6; log.read > most {
		t.Errorf("it reads %d events, more than %d", log.read, most)
	}
	if paid := before - s.ledger.left(a.credential, useReads); paid < float64(log.read/FoundPerRead)-0.5 {
		t.Errorf("%d events cost %.1f reads", log.read, paid)
	}
}

// TestChainsOfAnAnswerAreBoundedTogether: a chain that is cut says where it continues.
func TestChainsOfAnAnswerAreBoundedTogether(t *testing.T) {
	s := newStage(t)
	s.do(s.worker, "report:progress", `{"message":"m"}`) // its session was spawned by one that was spawned
	said := s.Head()
	told := s.causesFor(t.Context(), s.admin())
	told.left = 2
	for _, steps := range []int{2, 0} {
		chain, err := told.chain(t.Context(), reason{what: "it is so", sequence: said})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("event %d: the answer is full", said)
		if steps > 0 {
			want = "the chain goes on"
		}
		if len(chain.Steps) != steps || !strings.HasSuffix(chain.Root, want) {
			t.Errorf("it has %d steps, want %d, and goes back to %q", len(chain.Steps), steps, chain.Root)
		}
	}
}

// TestWhyOfProjectsAndOfWhatIsDeleted: the event is found by its time, among others of the same one.
func TestWhyOfProjectsAndOfWhatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time does not pass here, so all events have the same time
		s := newStage(t)
		top := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
		below := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T","parentId":"`+top+`"}`)
		s.do(s.admin(), "task:delete", `{"taskId":"`+top+`","recursive":true}`)
		s.do(s.admin(), "session:delete", `{"sessionId":"`+s.workerName+`"}`)
		empty := s.make(s.admin(), "project:create", `{"name":"Empty"}`)
		s.do(s.admin(), "project:delete", `{"projectId":"`+empty+`"}`)
		for id, want := range map[string]string{
			s.alpha:      "maestro.project.created.v1",
			top:          "maestro.task.deleted.v1",
			below:        "maestro.task.deleted.v1",
			s.workerName: "maestro.session.deleted.v1",
			empty:        "maestro.project.deleted.v1",
		} {
			why, _, err := s.Why(t.Context(), s.admin(), id)
			if err != nil || len(why.Chains) != 1 || why.Chains[0].Root != "user admin" ||
				why.Chains[0].Steps[0].Type != want {
				t.Errorf("%s, want %s: %+v, %v", id, want, why, err)
			}
		}
		if _, _, err := s.Why(t.Context(), s.lead, s.beta); err == nil {
			t.Error("an orchestrator is told why another project is there")
		}
		if _, _, err := s.Why(t.Context(), s.lead, s.alpha); err != nil {
			t.Errorf("of its own: %v", err)
		}
	})
}

// An answer keeps of each event what it shows. Events are charged for by their length when they are read, what is kept
// counts against the caller's budget, and nothing is read for a caller that is gone.
func TestWhyKeepsNoWholeEvents(t *testing.T) {
	const tasks, long = 40, 60_000
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	first := w.Head() + 1
	for range tasks {
		w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","metadata":{"long":%q}}`, project,
			strings.Repeat("x", long)))
	}
	spawned := w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"role":"orchestrator","taskIds":[%q]}`,
		project, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))))
	c := w.caller(spawned.Token)
	a, err := w.Admit(t.Context(), c, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	paid := a.reads
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	told := w.causesFor(t.Context(), c)
	for sequence := range uint64(tasks) {
		if _, err := told.causeAt(t.Context(), first+sequence); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > tasks*long/10 || a.answered < 100*tasks {
		t.Errorf("of %d bytes of events, %d are kept, and %d counted", tasks*long, kept, a.answered)
	}
	if paid = a.reads - paid; paid < tasks*long/bytesPerUnit {
		t.Errorf("%d bytes cost %.0f reads", tasks*long, paid)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := told.causeAt(gone, w.Head()); !errors.Is(err, context.Canceled) {
		t.Errorf("for a caller that is gone: %v", err)
	}
	if told.held.free(); a.answered != 0 {
		t.Errorf("%d bytes still count", a.answered)
	}
	runtime.KeepAlive(told)
}
