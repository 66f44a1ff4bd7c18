package runner

import (
	"context"

	"maestro/service/wire"
)

// A run in a terminal has no runner that looks after it: its supervisor is the command that a person started. If that
// was killed, or ended while the server was away, the home has what is known of the end. Whoever finds that there
// records it: the home's server, and the command that would begin the next run.

// RecordLeft records how a run ended that was launched in a terminal of this machine, if its supervisor is gone, and
// ends what is left of its agent. It reports whether the run was such a one; the server then says what became of it.
func (r *Runner) RecordLeft(ctx context.Context, x wire.RunnerSession) (left bool) {
	saved, known := r.saved(x.ID)
	if !known || saved.Runner != wire.TerminalRunner || saved.Run != x.Run || r.Home.Supervised(x.ID) {
		return false
	}
	r.recover(ctx, x)
	return true
}
