package natslive

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"maestro/commands"
	"maestro/events"
	"maestro/service"
)

// The bounds of what clients use. None of them delays a write: nats-server closes a connection that exceeds them.
const (
	// maxConnections bounds those that have shown a token, and perCredential those of one token.
	maxConnections = 256
	perCredential  = 16
	// maxStrangers is how many others may be open: of more, the oldest of the busiest address is closed, so that one
	// who comes with a token finds a place. Between two looks, there may be as many as maxOpen allows.
	maxStrangers  = 512
	maxOpen       = 2048
	strangersLook = 100 * time.Millisecond
	// maxSubscriptions bounds those of a connection.
	maxSubscriptions = 64
	// maxPending is how much may wait for a client that does not read, and writeWithin how long one write may take.
	maxPending  = 8 << 20
	writeWithin = 2 * time.Second
	// maxPayload is the size of the largest event with its headers. Clients may publish nothing.
	maxPayload = events.MaxBody + 4<<10
	// authWithin bounds the time until a client has shown its token, which is more than a stranger is made to wait.
	authWithin = 5.0
	// pingEvery finds clients that are gone.
	pingEvery = 20 * time.Second
	// startWithin bounds a start, which only listens.
	startWithin = 10 * time.Second
)

// Config is what a server needs.
type Config struct {
	Service *service.Service
	// Address is HOST:PORT; port 0 picks a free one.
	Address string
	// TLS is nil for plain TCP.
	TLS    *tls.Config
	Logger *slog.Logger
}

// Server serves NATS clients until it is closed.
type Server struct {
	service *service.Service
	logger  *slog.Logger
	nats    *server.Server
	// serving ends when the server is closed.
	serving context.Context //nolint:containedctx // connections come from nats-server, which passes none
	stop    context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// feeds are those of the credentials that have ever connected, by credential; own are those that are connecting to
	// the server themselves, by their secret.
	feeds map[string]*feed
	own   map[string]*feed
}

// Start listens on the address and serves clients. The caller must call Close.
func Start(ctx context.Context, c Config) (*Server, error) {
	s := &Server{
		service: c.Service,
		logger:  c.Logger,
		feeds:   map[string]*feed{},
		own:     map[string]*feed{},
	}
	s.serving, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	options, err := s.options(c)
	if err != nil {
		s.stop()
		return nil, err
	}
	if s.nats, err = server.NewServer(options); err != nil {
		s.stop()
		return nil, fmt.Errorf("create the NATS listener: %w", err)
	}
	log := &serverLog{logger: c.Logger}
	s.nats.SetLoggerV2(log, false, false, false)
	s.nats.Start()
	s.run(s.lookAtStrangers)
	// When Start returns, a server either listens or has given up.
	if fatal := log.fatal.Load(); fatal != nil {
		s.Close()
		return nil, errors.New(*fatal)
	}
	if !s.nats.ReadyForConnections(startWithin) {
		s.Close()
		return nil, errors.New("the NATS listener did not start in time")
	}
	return s, nil
}

func (s *Server) options(c Config) (*server.Options, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	options := &server.Options{
		ServerName:                 "maestro-live",
		Host:                       host,
		Port:                       number,
		NoSigs:                     true,
		NoLog:                      true,
		NoSystemAccount:            true,
		CustomClientAuthentication: s,
		TLSConfig:                  c.TLS,
		TLS:                        c.TLS != nil,
		TLSTimeout:                 authWithin,
		AuthTimeout:                authWithin,
		MaxConn:                    maxOpen,
		MaxSubs:                    maxSubscriptions,
		MaxPending:                 maxPending,
		MaxPayload:                 maxPayload,
		WriteDeadline:              writeWithin,
		PingInterval:               pingEvery,
		// With it, a client that is slow would lose messages, and would not know. Without it, its feed waits for a
		// few milliseconds, until the client reads or loses its connection.
		NoFastProducerStall: false,
	}
	if err := options.ProcessConfigString(fullConfig); err != nil {
		return nil, fmt.Errorf("make the account of those who find no place: %w", err)
	}
	return options, nil
}

// full is an account without a place. A client that is put into it is told that there are too many connections, where
// any other refusal would tell it that its token is wrong.
const (
	full       = "full"
	fullConfig = `accounts: {full: {limits: {max_connections: 0}}}`
)

// Address is where the server listens.
func (s *Server) Address() net.Addr { return s.nats.Addr() }

// URL is how a client on this machine names the server.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Close closes all connections and waits for them. A second Close does nothing.
func (s *Server) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.running.Wait()
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// run runs a feed until it ends; it reports false if the server is closed.
func (s *Server) run(feed func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving.Err() != nil {
		return false
	}
	s.running.Go(feed)
	return true
}

// Run stops feeds that nobody has used between two ticks, until ctx ends.
func (s *Server) Run(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		s.mu.Lock()
		feeds := make([]*feed, 0, len(s.feeds))
		for _, f := range s.feeds {
			feeds = append(feeds, f)
		}
		s.mu.Unlock()
		for _, f := range feeds {
			f.stopIfIdle()
		}
	}
}

// Check decides whether a client may connect, and what it may do. It implements server.Authentication, and is called
// on the client's own goroutine.
func (s *Server) Check(client server.ClientAuthentication) bool {
	shown := client.GetOpts()
	token := cmp.Or(shown.Token, shown.Password)
	s.mu.Lock()
	own := s.own[token]
	s.mu.Unlock()
	if own != nil {
		client.RegisterUser(&server.User{Username: "maestro", Account: own.account, Permissions: feeding})
		return true
	}
	remote := ""
	if address := client.RemoteAddress(); address != nil {
		remote = address.String()
	}
	c, err := s.service.AuthenticateFrom(token, remote)
	if err != nil {
		s.refuse(remote)
		return false
	}
	err = s.connect(c, client)
	if errors.Is(err, errMany) || errors.Is(err, errFull) {
		if account, err := s.nats.LookupAccount(full); err == nil {
			client.RegisterUser(&server.User{Username: c.By.Name, Account: account}) // which refuses it
		}
	}
	if err != nil {
		s.logger.Debug("a NATS client was refused", "who", c.By.String(), "why", err)
	}
	return err == nil
}

// refuse takes its time with a client without a valid token, if there are many of them.
func (s *Server) refuse(remote string) {
	s.service.NoteUnauthenticated()
	host, _, _ := net.SplitHostPort(remote)
	_, _ = s.service.AdmitNobody(s.serving, host) // it is refused in any case
}

var (
	errSession = errors.New("sessions follow the log over HTTP; only the user's tokens connect here")
	errMany    = errors.New("the token has too many connections")
	errFull    = errors.New("there are too many connections")
)

func (s *Server) connect(c *service.Caller, client server.ClientAuthentication) error {
	if c.By.Kind != commands.ActorUser {
		return errSession
	}
	name := c.By.Name + "." + strconv.Itoa(c.By.Generation)
	s.mu.Lock()
	if s.followers() >= maxConnections {
		s.mu.Unlock()
		return errFull
	}
	f := s.feeds[name]
	if f == nil {
		account, _ := s.nats.LookupOrRegisterAccount("credential-" + strconv.Itoa(len(s.feeds)))
		f = &feed{server: s, account: account}
		s.feeds[name] = f
	}
	s.mu.Unlock()
	return f.join(c, client)
}

var none = &server.SubjectPermission{Deny: []string{">"}}

// feeding is what a feed may do: publish what its clients are shown.
var feeding = &server.Permissions{
	Publish:   &server.SubjectPermission{Allow: []string{events.LivePrefix + ">"}},
	Subscribe: none,
}

// following is what a caller may do: subscribe to what is announced of the projects that it may read.
func following(by commands.Actor) *server.Permissions {
	allowed := []string{events.LivePrefix + ">"}
	if by.Access == commands.AccessReadOnly {
		allowed = allowed[:0]
		for _, project := range by.Projects {
			allowed = append(allowed, events.LiveSubjects(project))
		}
	}
	return &server.Permissions{Publish: none, Subscribe: &server.SubjectPermission{Allow: allowed}}
}
