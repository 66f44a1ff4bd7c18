package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// serviceManager is what started the server and wants to know when it is ready, such as systemd (sd_notify). socket is
// $NOTIFY_SOCKET, "" if there is none.
type serviceManager struct {
	socket string
	logger *slog.Logger
}

func (m serviceManager) ready(address string) { m.tell("READY=1\nSTATUS=Listening on " + address) }

func (m serviceManager) stopping() { m.tell("STOPPING=1\nSTATUS=Stopping") }

// tell sends a state. A service manager that does not hear it does not keep the server from its work.
func (m serviceManager) tell(state string) {
	if m.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"}) // @ is the abstract kind
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // it is sent
	}
	if err != nil {
		m.logger.Warn("the service manager is not told of the server's state", "socket", m.socket, "why", err)
	}
}

// ignoreHangUps lets the server go on when its terminal goes away or it is asked to read its options again, and says
// so. stop ends it and waits for it.
func ignoreHangUps(ctx context.Context, logger *slog.Logger) (stop func()) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	stopSaying := beside(ctx, func(ctx context.Context) {
		for {
			select {
			case <-hangUps:
				logger.Info("the hang-up signal is ignored", "next", "restart the server to change its options")
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		stopSaying()
		signal.Stop(hangUps)
	}
}
