package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// CodeStopping is the code of an answer to a call that waited when the server began to stop: ask again.
const CodeStopping = "STOPPING"

// errStopping ends what is open when the server stops.
var errStopping = errors.New("the server is stopping")

func errAskAgain() error {
	return &problem{
		status: http.StatusServiceUnavailable, Code: CodeStopping, Message: "The server is stopping: ask again",
		Why:     "a server that stops answers who waits before it ends",
		Next:    "ask again with the same key, until the server is back",
		headers: http.Header{"Retry-After": {"1"}, "Connection": {"close"}},
	}
}

// untilStop gives a context that also ends when the server stops. done must be called.
func (s *server) untilStop(ctx context.Context) (until context.Context, done func()) {
	until, cancel := context.WithCancelCause(ctx)
	if s.Stopping.Err() != nil {
		cancel(errStopping) // at once: AfterFunc runs in a goroutine of its own
	}
	forget := context.AfterFunc(s.Stopping, func() { cancel(errStopping) })
	return until, func() {
		forget()
		cancel(nil)
	}
}

// stoppingBody is a body that no longer has to arrive when the server stops. What has arrived is handled.
type stoppingBody struct {
	io.ReadCloser
	server *server
	to     *http.ResponseController
	forget func() bool
	// whole is called when all of it is there; nil if nobody asks.
	whole func()
	// bring counts what has come, and may refuse the rest; nil if it is not counted.
	bring func(n int64) error
}

// Read implements io.Reader.
func (b *stoppingBody) Read(p []byte) (int, error) {
	if b.forget == nil {
		b.forget = context.AfterFunc(b.server.Stopping, func() { _ = b.to.SetReadDeadline(time.Unix(1, 0)) })
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.bring != nil {
		if over := b.bring(int64(n)); over != nil {
			b.forget()
			b.unwanted()
			return 0, over
		}
	}
	if err != nil {
		b.forget()
		if err == io.EOF && b.whole != nil {
			b.whole()
		}
		if err != io.EOF && b.server.Stopping.Err() != nil {
			err = errStopping
		}
	}
	return n, err
}

// unwanted says that the rest is read for its sender's sake only: it gets little time.
func (b *stoppingBody) unwanted() {
	b.whole, b.bring = nil, nil
	if b.server.Stopping.Err() != nil {
		return // it gets none at all
	}
	_ = b.to.SetReadDeadline(time.Now().Add(refusedBodyWithin))
}
