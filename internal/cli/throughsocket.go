package cli

import (
	"context"
	"net"
	"path/filepath"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/socket"
)

// socketAddress stands for a server that is reached through the socket of a supervisor.
const socketAddress = "http://supervisor"

// throughSocket reports whether this process reaches the server through the socket of its agent's supervisor, which
// adds the session's token and keeps what the server cannot take now.
func (a *Run) throughSocket() bool {
	_, set := a.Env[wire.EnvSocket]
	return set
}

// socketPath returns the path of that socket.
func (a *Run) socketPath() (string, error) {
	path := a.Getenv(wire.EnvSocket)
	switch {
	case path == "":
		return "", failure.Usage("%s is set, but empty", wire.EnvSocket).
			WithWhy("a process of an agent acts as its session or not at all").
			WithNext("pass on the whole environment of the agent")
	case !filepath.IsAbs(path):
		return "", failure.Usage("%s is not an absolute path: %s", wire.EnvSocket, safetext.Quoted(path)).
			WithNext("pass on the environment of the agent as it is")
	case a.Getenv(wire.EnvSessionID) == "":
		return "", failure.Usage("%s is set, and %s is not", wire.EnvSocket, wire.EnvSessionID).
			WithWhy("a process of an agent acts as its session or not at all").
			WithNext("pass on the whole environment of the agent")
	}
	return path, nil
}

// dialSupervisor makes a client connect to the supervisor's socket.
func dialSupervisor(path string) client.Option {
	return client.WithSocket(func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, path) })
}

// connectThroughSocket is connect for a process of an agent.
func (a *Run) connectThroughSocket(options ...client.Option) (*client.Client, error) {
	path, err := a.socketPath()
	if err != nil {
		return nil, err
	}
	c := client.New(socketAddress, "", append([]client.Option{
		client.WithVersion(Version()), client.WithTimeout(patience), client.WithWaiting(a.sayWaiting),
		client.WithTraceParent(a.traceParent()), dialSupervisor(path),
	}, options...)...)
	c.LookBack(a.moment)
	a.client = c
	return c, nil
}
