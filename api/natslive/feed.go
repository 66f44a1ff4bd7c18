package natslive

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"maestro/events"
	"maestro/service"
)

// HeaderPosition names the position after an event, with which a client continues over GET /api/live.
const HeaderPosition = "Maestro-Position"

// feed publishes what a credential is shown to its connections. It runs while the credential has any.
type feed struct {
	server  *Server
	account *server.Account

	mu sync.Mutex
	// end stops the feed that runs; nil if none does.
	end *context.CancelFunc
}

// join connects a client. The feed runs when join returns, so the client misses nothing from its subscription on.
func (f *feed) join(c *service.Caller, client server.ClientAuthentication) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.account.NumLocalConnections() > perCredential { // one of them is the feed's own
		return errMany
	}
	if f.end == nil {
		if err := f.start(c); err != nil {
			return err
		}
	}
	client.RegisterUser(&server.User{Username: c.By.Name, Account: f.account, Permissions: following(c.By)})
	return nil
}

// start starts to follow the log as the caller.
func (f *feed) start(c *service.Caller) error {
	ctx, end := context.WithCancel(f.server.serving)
	watch, err := f.server.service.WatchNow(ctx, c, service.WatchFilter{}, func(service.View) error { return nil })
	if err != nil {
		end()
		return err
	}
	connection, closed, err := f.dial()
	if err != nil {
		watch.Close()
		end()
		return err
	}
	leave := func() {
		watch.Close()
		connection.Close()
		<-closed
		end()
	}
	if !f.server.run(func() {
		defer leave()
		err := follow(ctx, watch, connection)
		if ctx.Err() == nil {
			f.server.logger.Debug("NATS clients are disconnected", "who", c.By.String(), "why", err)
		}
		f.ended(&end)
	}) {
		leave()
		return service.ErrStopping
	}
	f.end = &end
	return nil
}

// dial connects the feed to its account. Its secret is good for this connection only, and never leaves the process.
func (f *feed) dial() (*nats.Conn, <-chan struct{}, error) {
	s, secret, closed := f.server, rand.Text(), make(chan struct{})
	s.mu.Lock()
	s.own[secret] = f
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.own, secret)
		s.mu.Unlock()
	}()
	connection, err := nats.Connect("", nats.InProcessServer(s.nats), nats.Token(secret), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the NATS listener: %w", err)
	}
	return connection, closed, nil
}

// ended closes the connections of the credential, which get nothing more from the feed that had this end.
func (f *feed) ended(end *context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != end {
		return // it was idle
	}
	f.end = nil
	s := f.server.nats
	list, err := s.Connz(&server.ConnzOptions{Account: f.account.GetName(), Limit: maxConnections})
	if err != nil {
		return // the server is stopped
	}
	for _, connection := range list.Conns {
		_ = s.DisconnectClientByID(connection.Cid) // it may be gone
	}
}

// stopIfIdle stops the feed if only its own connection is left.
func (f *feed) stopIfIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil && f.account.NumLocalConnections() <= 1 {
		(*f.end)()
		f.end = nil
	}
}

// follow publishes what the watch shows, until the watch or the connection ends.
func follow(ctx context.Context, watch *service.Watch, to *nats.Conn) error {
	for {
		frame, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		if frame.Event == nil {
			continue
		}
		text, err := frame.Text()
		if err != nil {
			return err
		}
		kind, id := frame.Event.Data.Aggregate()
		message := nats.NewMsg(events.LiveSubject(events.Subject(frame.Event.Project, kind, id)))
		message.Data = text
		message.Header.Set(HeaderPosition, frame.String())
		if err := to.PublishMsg(message); err != nil {
			return err
		}
	}
}
