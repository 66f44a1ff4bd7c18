package cli

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
)

// A terminal repeats its claim with the same key until it knows whether the run began, also when it is interrupted.
func TestClaimOfATerminalIsRepeated(t *testing.T) {
	refused := &client.Error{Status: http.StatusConflict}
	lost := &client.ConnectionError{Err: errors.New("reset")}
	var event client.Answer
	event.Event = []byte("{}")
	for name, c := range map[string]struct {
		lost    int
		answer  client.Answer
		err     error
		began   bool
		unknown bool
	}{
		"begins":                   {0, event, nil, true, false},
		"begins, answers are lost": {3, event, nil, true, false},
		"another terminal's":       {0, client.Answer{}, nil, false, false},
		"refused":                  {1, client.Answer{}, refused, false, false},
		"never answered":           {1000, client.Answer{}, nil, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var keys []string
			began, err := claimHere(ctx, &commands.ClaimSession{SessionID: "sess_1", Run: 1},
				func(ctx context.Context, _ string, _ any, o client.Options) (client.Answer, error) {
					interrupt()
					keys = append(keys, o.Key)
					if ctx.Err() != nil || len(keys) <= c.lost {
						return client.Answer{}, lost
					}
					return c.answer, c.err
				})
			var f *failure.Error
			unknown := errors.As(err, &f) && f.Code == "CLAIM_UNKNOWN"
			if began != c.began || unknown != c.unknown || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%s: began %t, %v", name, began, err)
			}
			if keys[0] == "" || len(slices.Compact(keys)) != 1 {
				t.Errorf("%s: the keys are %q", name, keys)
			}
		})
	}
}
