package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"maestro/events"
	"maestro/projections"
)

type memoryLog struct {
	mu       sync.Mutex
	messages []events.Message
}

func (l *memoryLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uint64(len(l.messages)) != after {
		return events.ErrConflict
	}
	l.messages = append(l.messages, messages...)
	return nil
}

func (l *memoryLog) Sync(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.messages)), nil
}

func (l *memoryLog) Read(_ context.Context, from, to uint64, yield func(events.Message) error) error {
	l.mu.Lock()
	messages := l.messages
	l.mu.Unlock()
	for s := from; s <= to; s++ {
		if s > uint64(len(messages)) {
			return &events.DamageError{Sequence: s, Why: "missing"}
		}
		if err := yield(messages[s-1]); err != nil {
			return err
		}
	}
	return nil
}

func do(t testing.TB, h *Handler, by Actor, id, body string) Answer {
	t.Helper()
	command, err := Parse(id, []byte(body))
	if err != nil {
		t.Fatal(id, err)
	}
	a, err := h.Do(context.Background(), Request{By: by, Command: command, Key: fmt.Sprint(id, body, time.Now().UnixNano())})
	if err != nil {
		t.Fatalf("%s %s: %+v", id, body, err)
	}
	return a
}

func TestSmoke(t *testing.T) {
	log := &memoryLog{}
	h, err := Open(context.Background(), Config{Log: log, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	admin := Admin(AuthnToken)
	p := do(t, h, admin, "project:create", `{"name":"Alpha"}`).Data.(*events.ProjectCreated).ProjectID
	task := do(t, h, admin, "task:create", `{"project":"`+p+`","title":"T1"}`).Data.(*events.TaskCreated).TaskID
	s := do(t, h, admin, "session:spawn", `{"project":"`+p+`","taskIds":["`+task+`"]}`).Data.(*events.SessionSpawned).SessionID
	worker := SessionActor(p, s, AuthnToken)
	do(t, h, worker, "session:register", `{}`)
	do(t, h, worker, "report:progress", `{"message":"hi","taskIds":["`+task+`"]}`)
	do(t, h, worker, "track-file", `{"file":"a.go"}`)
	do(t, h, worker, "report:complete", `{"message":"done","taskIds":["`+task+`"]}`)
	do(t, h, worker, "report:complete", `{"message":"done"}`)
	do(t, h, admin, "task:complete", `{"taskId":"`+task+`"}`)
	v := NewVerifier()
	_ = log.Read(context.Background(), 1, uint64(len(log.messages)), func(m events.Message) error { v.Event(m); return nil })
	verdict, _ := v.Verdict()
	out, _ := json.MarshalIndent(verdict, "", " ")
	t.Log(string(out))
	h.View(func(st *projections.State) {
		b, _ := st.Encode()
		if events.BodyHash(b) != verdict.Views || len(verdict.Faults) > 0 {
			t.Error("views differ")
		}
		again, err := projections.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := again.Encode()
		if string(c) != string(b) {
			t.Error("decode/encode differ")
		}
		v, _ := json.Marshal(st.TaskView(st.Task(task)))
		t.Log(string(v))
	})
	t.Log(string(log.messages[4].Body))
	h.Close()
}

func BenchmarkHandler(b *testing.B) {
	log := &memoryLog{}
	h, _ := Open(context.Background(), Config{Log: log, Now: time.Now, After: time.After})
	admin := Admin(AuthnToken)
	p := do(b, h, admin, "project:create", `{"name":"Alpha"}`).Data.(*events.ProjectCreated).ProjectID
	task := do(b, h, admin, "task:create", `{"project":"`+p+`","title":"T1"}`).Data.(*events.TaskCreated).TaskID
	s := do(b, h, admin, "session:spawn", `{"project":"`+p+`","taskIds":["`+task+`"]}`).Data.(*events.SessionSpawned).SessionID
	worker := SessionActor(p, s, AuthnToken)
	b.SetParallelism(256)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		k := fmt.Sprint(time.Now().UnixNano())
		i := 0
		for pb.Next() {
			i++
			_, err := h.Do(context.Background(), Request{By: worker, Command: &Report{Kind: events.ReportProgress, Message: "Implementing authentication endpoints", TaskIDs: []string{task}}, Key: k + fmt.Sprint(i)})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.StopTimer()
	start := time.Now()
	st := projections.New()
	if err := fold(context.Background(), log, st, uint64(len(log.messages))); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(len(log.messages)), "fold-ns/event")
}
