package cli

import (
	"context"
	"log/slog"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
	"maestro/workers/runner"
)

// recordLeft returns a session after it recorded how its last run ended, if that was launched in a terminal of this
// machine and its supervisor could not record it: it was killed, or the server was away. The home's server does so too,
// but the session's server may be another one.
func recordLeft(ctx context.Context, a *Run, x wire.Session) (wire.Session, error) {
	if !hasRun(x) || x.Run.Runner != wire.TerminalRunner || x.Run.Host != hostname() || a.throughSocket() {
		return x, nil
	}
	h := a.openHome()
	if h == nil {
		return x, nil
	}
	defer func() { _ = h.Close() }()
	server, err := a.Connect(ctx)
	if err != nil {
		return x, err
	}
	speaks, err := server.RunnerCredential(ctx, x.ID)
	if err != nil {
		return x, nil //nolint:nilerr // the session's own commands are not for its runner
	}
	asRunner, err := a.clientOf(server, speaks.Token)
	if err != nil {
		return x, err
	}
	defer asRunner.Close()
	r := runner.New(runner.Config{
		Name:   wire.TerminalRunner,
		Server: asRunner,
		Home:   h,
		Logger: slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		After:  time.After,
	})
	if !r.RecordLeft(ctx, wire.RunnerSession{ID: x.ID, Run: x.Run.Number, Conversation: x.Run.Conversation}) {
		return x, nil
	}
	return Ask(ctx, a, (*client.Client).Session, x.ID)
}
