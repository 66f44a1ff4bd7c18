package listen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"maestro/api"
)

const (
	// Finishing bounds the requests in progress when the server stops.
	Finishing = 10 * time.Second
	// headersWithin bounds the time for a request's headers. A ReadTimeout would also end long answers, such as an
	// audit, because net/http takes it for a disconnect.
	headersWithin = 10 * time.Second
	// idleFor is how long a connection without a request stays open.
	idleFor = 2 * time.Minute
)

// Until answers requests until ctx ends. It then calls stopping, which answers the waiting calls, and finishes the
// requests in progress.
func Until(
	ctx context.Context, listener *api.Listener, handler http.Handler, stopping func(), logger *slog.Logger,
) error {
	var hands inHand
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	server := &http.Server{
		Handler:           hands.count(handler),
		ReadHeaderTimeout: headersWithin,
		IdleTimeout:       idleFor,
		// net/http would answer OPTIONS * without a look at the Host, and without our headers.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return requests },
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	listener.Configure(server)
	var quiet api.Silent
	quiet.Watch(server)
	server.RegisterOnShutdown(quiet.Hurry)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	logger.Info("stopping", "why", context.Cause(ctx)) // names the signal
	server.SetKeepAlivesEnabled(false)                 // an answer now says that the connection ends with it
	stopping()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), Finishing)
	defer cancel()
	if err := errors.Join(server.Shutdown(patience), hands.wait(patience)); err != nil {
		logger.Warn("requests that did not finish in time are cancelled", "why", err)
		abandon()
		_ = server.Close() // the listener is closed already
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), Finishing)
		defer cancel()
		_ = hands.wait(last) // what it uses is closed after this
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
