package supervisor

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"maestro/api/client"
)

// A look at a server that does not answer ends with the run, and ends nothing itself.
func TestLookEndsWithItsRun(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	defer server.Close()
	defer close(answer)
	logger := slog.New(slog.DiscardHandler)
	s := &supervisor{
		Config:  Config{SessionID: "s"},
		Console: silence{},
		calls:   &calls{session: client.New(server.URL, "t"), logger: logger},
		logger:  logger,
		over:    make(chan struct{}),
	}
	defer s.calls.session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		s.look(ctx)
	}()
	<-asked
	began := time.Now()
	cancel()
	<-looked
	if took := time.Since(began); took > lookWithin/2 {
		t.Errorf("it ended %s after its run", took)
	}
	select {
	case <-s.over:
		t.Error("the run was ended: " + s.why)
	default:
	}
}
