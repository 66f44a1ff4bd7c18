package supervisor

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// What an agent says waits until it is known whether the agent has its mail, but not for long.
func TestMailSettles(t *testing.T) {
	for name, test := range map[string]struct {
		// ends lets the wait end.
		ends func(handed func(context.Context, bool))
		took time.Duration
	}{
		"once it is known": {func(handed func(context.Context, bool)) { handed(context.Background(), false) }, 0},
		"after a while":    {func(func(context.Context, bool)) { <-time.After(settlesWithin) }, settlesWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMailbox(&calls{after: time.After}, "s", slog.New(slog.DiscardHandler), nil, nil)
				m.settled(t.Context()) // nobody is given any
				m.came([]wire.Mail{{ID: "input_1", Text: "main"}})
				_, handed := m.take()
				began, settled := time.Now(), make(chan struct{})
				go func() {
					defer close(settled)
					m.settled(t.Context())
				}()
				synctest.Wait()
				select {
				case <-settled:
					t.Fatal("it did not wait")
				default:
				}
				test.ends(handed)
				<-settled
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
