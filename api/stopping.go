package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"maestro/service"
)

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
			err = service.ErrStopping
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
