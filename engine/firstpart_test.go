package engine

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
)

// Of a batch whose outcome is unknown, a first part may be stored. Each command still becomes exactly one event.
func TestPartOfABatchIsStored(t *testing.T) {
	const commands = 30
	for _, part := range []int{0, 1, 7, commands / 3} {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				head, spoilt := w.log.head(), 0
				w.log.when(func(after uint64, messages []events.Message, store func() error) error {
					if spoilt > 0 || len(messages) <= part {
						time.Sleep(time.Millisecond) // the others arrive meanwhile
						return store()
					}
					spoilt = len(messages)
					if err := w.log.store(after, messages[:part]); err != nil {
						return err
					}
					return events.ErrUnknown
				})
				var all sync.WaitGroup
				for i := range commands {
					all.Go(func() {
						if _, err := w.note(fmt.Sprint("n", i)); err != nil {
							t.Errorf("command %d: %v", i, err)
						}
					})
				}
				all.Wait()
				if n := w.log.head() - head; spoilt == 0 || n != commands {
					t.Errorf("%d commands became %d events; a batch of %d failed", commands, n, spoilt)
				}
				if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
					t.Errorf("%+v", verdict.Faults)
				}
			})
		})
	}
}
