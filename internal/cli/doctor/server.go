package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/service/wire"
)

// lookAtVersions compares the versions of both sides.
func lookAtVersions(ctx context.Context, x *examination) []Finding {
	if x.server == nil {
		return nil
	}
	identity, err := x.server.Identity(ctx)
	if err != nil {
		return x.silent(err)
	}
	if identity.Version == cli.Version() {
		return nil
	}
	return []Finding{versionSkew.found(
		fmt.Sprintf("The server has version %s, this program %s", identity.Version, cli.Version()),
		"one of them may not know what the other sends",
		"install the same version in both places, and restart the server: `maestro serve`")}
}

// lookAtReady shows what the server itself says.
func lookAtReady(ctx context.Context, x *examination) []Finding {
	if x.server == nil {
		return nil
	}
	ready, err := x.server.Ready(ctx)
	var said *client.Error
	if errors.As(err, &said) && said.Status == http.StatusServiceUnavailable {
		return []Finding{notReady.found(said.Message, said.Why, said.Next)}
	}
	if err != nil {
		return x.silent(err)
	}
	var found []Finding
	for _, w := range ready.Warnings {
		if w.Code == wire.CodeClock {
			continue // the check of the clocks says so
		}
		f := readyWarning.found(w.Message, "the server warns of it until it is over", w.Next)
		f.Code = w.Code
		found = append(found, f)
	}
	return found
}

// skew is how far the clocks of two machines may differ.
const skew = time.Minute

// lookAtClocks compares the clocks of the server and of this machine.
func lookAtClocks(ctx context.Context, x *examination) []Finding {
	if x.server == nil {
		return nil
	}
	status, err := x.server.Clock(ctx)
	if err != nil {
		return x.silent(err)
	}
	if status.Warning != "" {
		return []Finding{clockWrong.found(status.Warning, "events get the server's time, for ever", status.Next)}
	}
	if apart := x.Wall().Sub(status.Wall).Abs(); apart > skew {
		return []Finding{clockSkew.found(
			fmt.Sprintf("The clocks of this machine and of the server's differ by %s", apart.Round(time.Second)),
			"times on the command line mean other moments on the server, and tokens seem to expire early or late",
			"find out which one is wrong, and set it: `timedatectl set-ntp true`")}
	}
	return nil
}

// silent is the finding that a server stopped answering during the examination.
func (x *examination) silent(err error) []Finding {
	what, why, next := cli.Explain(err)
	if next == "" {
		next = "look at the server's log, and run `maestro doctor` again"
	}
	return []Finding{serverSilent.found(what, why, next)}
}
