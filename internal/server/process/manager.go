package process

import (
	"log/slog"
	"net"
)

// ServiceManager is the service manager that started the server and waits for it to be ready, such as systemd
// (sd_notify). Socket is $NOTIFY_SOCKET, "" if there is none.
type ServiceManager struct {
	Socket string
	Logger *slog.Logger
}

// Ready says that the server listens.
func (m ServiceManager) Ready(address string) { m.tell("READY=1\nSTATUS=Listening on " + address) }

// Stopping says that the server was told to stop.
func (m ServiceManager) Stopping() { m.tell("STOPPING=1\nSTATUS=Stopping") }

// tell sends a state. A service manager that does not receive it does not stop the server.
func (m ServiceManager) tell(state string) {
	if m.Socket == "" {
		return
	}
	// @ means an abstract socket
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.Socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // it is sent
	}
	if err != nil {
		m.Logger.Warn("the service manager could not be told the server's state", "socket", m.Socket, "why", err)
	}
}
