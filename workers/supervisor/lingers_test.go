package supervisor

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// An agent may go on for a while after its session is complete. That is shown, and then it is ended.
func TestAgentThatGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		// done is when the session says that it is done, ends when the agent ends.
		done, ends time.Duration
		want       []string
	}{
		"it ends soon": {time.Hour, time.Hour + 90*time.Second, nil},
		"it ends late": {time.Hour, time.Hour + 5*time.Minute, []string{"shown at 1h2m0s"}},
		"it does not end": {time.Hour, 3 * time.Hour, []string{
			"shown at 1h2m0s", "ended at 1h10m0s: its session was complete, and the agent had not ended 10m0s later",
		}},
		"it is not done": {3 * time.Hour, 2 * time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				var told []string
				tell := func(what string) {
					told = append(told, fmt.Sprintf("%s at %s", what, time.Since(began)))
				}
				lingering{
					within: 10 * time.Minute,
					after:  time.After,
					now:    time.Now,
					done:   func(context.Context) bool { return time.Since(began) >= test.done },
					show:   func(string, time.Time) { tell("shown") },
					end: func(why string) {
						tell("ended")
						told[len(told)-1] += ": " + why
					},
				}.run(ctx)
				if !slices.Equal(told, test.want) {
					t.Errorf("told %q, want %q", told, test.want)
				}
			})
		})
	}
}

// A supervisor that was stopped for a while says why its agent is ended before it ends it.
func TestAgentIsShownBeforeItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		var told []string
		lingering{
			within: 10 * time.Minute,
			after:  time.After,
			now:    func() time.Time { now = now.Add(time.Hour); return now },
			done:   func(context.Context) bool { return true },
			show:   func(string, time.Time) { told = append(told, "shown") },
			end:    func(string) { told = append(told, "ended") },
		}.run(t.Context())
		if want := []string{"shown", "ended"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
