package rawbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a nats-server in this process, with a stream in it, to which nothing of the product is connected.
type Server struct {
	server *server.Server
	conn   *nats.Conn
}

// Serve starts a server in an empty directory and creates [Stream]. If durable, the server syncs each message, or
// batch, before it acknowledges it; otherwise once a second. Batches are staged on the disk, as JetStream does by
// default.
func Serve(ctx context.Context, dir string, durable bool) (*Server, error) {
	return serve(ctx, dir, durable, false)
}

// ServeTCP is Serve for a server that listens on a port of the loopback interface; its Conn is a connection over TCP.
func ServeTCP(ctx context.Context, dir string, durable bool) (*Server, error) {
	return serve(ctx, dir, durable, true)
}

func serve(ctx context.Context, dir string, durable, tcp bool) (*Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName:             "raw",
		DontListen:             !tcp,
		Host:                   "127.0.0.1",
		Port:                   server.RANDOM_PORT,
		NoSigs:                 true,
		NoLog:                  true,
		JetStream:              true,
		StoreDir:               dir,
		SyncAlways:             durable,
		SyncInterval:           time.Second,
		JetStreamMaxStore:      1 << 60,
		JetStreamMaxMemory:     256 << 20,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("create the server of the baselines: %w", err)
	}
	s.Start()
	raw := &Server{server: s}
	if !s.ReadyForConnections(time.Minute) {
		raw.Close()
		return nil, errors.New("the server of the baselines does not start")
	}
	address, option := "", nats.InProcessServer(s)
	if tcp {
		address, option = s.ClientURL(), nats.Name("raw")
	}
	if raw.conn, err = nats.Connect(address, option); err == nil {
		err = Create(ctx, raw.conn, Stream, 1)
	}
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("connect to the server of the baselines: %w", err)
	}
	return raw, nil
}

// Conn is the connection to the server.
func (s *Server) Conn() *nats.Conn { return s.conn }

// Close stops the server and waits for it.
func (s *Server) Close() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
