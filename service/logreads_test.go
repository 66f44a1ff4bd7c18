package service

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"maestro/events"
	"maestro/service/wire"
)

// leavingLog ends the caller's context after some messages, and counts what is read.
type leavingLog struct {
	*memoryLog
	after int
	leave func()
	read  int
}

func (l *leavingLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	return l.memoryLog.Read(ctx, from, to, func(m events.Message) error {
		if l.read++; l.read == l.after {
			l.leave()
		}
		return yield(m)
	})
}

// longReads are the reads of the whole log that answer at once.
var longReads = map[string]func(ctx context.Context, s *Service, c *Caller) error{
	"since": func(ctx context.Context, s *Service, c *Caller) error {
		_, err := s.Since(ctx, c, &wire.SinceQuery{})
		return err
	},
	"verify": func(ctx context.Context, s *Service, c *Caller) error {
		_, err := s.Verify(ctx, c, "")
		return err
	},
}

// longStage has an auditor and a log of some length.
func longStage(t *testing.T) (s *stage, auditor *Caller) {
	t.Helper()
	s = newStage(t)
	auditor = s.token(`{"name":"eyes","kind":"auditor"}`)
	for i := range 2*EventsPerRead + 1 {
		s.do(s.worker, "session:note", fmt.Sprintf(`{"message":"%d"}`, i))
	}
	return s, auditor
}

// TestReadsOfTheLogAreChargedByItsLength: each [EventsPerRead] events count as one more read, even if the caller gives
// up.
func TestReadsOfTheLogAreChargedByItsLength(t *testing.T) {
	s, auditor := longStage(t)
	for name, read := range longReads {
		caller := *auditor
		a, err := s.Admit(t.Context(), &caller, Demand{ReadsLog: true})
		if err != nil {
			t.Fatal(err)
		}
		s.ledger.quotas[ClassReader][useReads] = Quota{Name: "reader-reads", Value: 0.001, Burst: 100}
		a.credential.paid[useReads] = 0
		if err := read(t.Context(), s.Service, &caller); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if paid := 100 - s.ledger.left(a.credential, useReads); paid < 1.9 || paid > 2.1 {
			t.Errorf("%s of %d events was charged as %.1f reads", name, s.Head(), paid)
		}
		a.Leave()
	}
}

// TestReadsOfTheLogEndWithTheirCaller: reading stops when the caller has left.
func TestReadsOfTheLogEndWithTheirCaller(t *testing.T) {
	s, auditor := longStage(t)
	for name, read := range longReads {
		ctx, leave := context.WithCancel(t.Context())
		log := &leavingLog{memoryLog: s.log, after: 10, leave: leave}
		s.Service.Log = log
		caller := *auditor
		if err := read(ctx, s.Service, &caller); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if log.read > log.after+1 {
			t.Errorf("%s read %d messages for a caller that left after %d", name, log.read, log.after)
		}
		s.Service.Log = s.log
	}
}
