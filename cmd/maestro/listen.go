package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"

	"maestro/engine"
	"maestro/internal/cli"
	"maestro/internal/clock"
	"maestro/internal/failure"
)

// listen takes the address. last is the address at which the home's server listened before, "" if that is not known:
// with port 0, its port is taken again if it is on the same host and free.
func listen(ctx context.Context, address, last string) (net.Listener, error) {
	host, port, _ := net.SplitHostPort(address) // the options were checked
	if before, _, err := net.SplitHostPort(last); err == nil && port == "0" && before == host {
		if listener, err := new(net.ListenConfig).Listen(ctx, "tcp", last); err == nil {
			return listener, nil
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "LISTEN",
			Message: "The server cannot listen on " + address,
			Err:     err,
			Next:    "stop what listens there, or choose another address with --listen; port 0 takes a free one",
		}
	}
	return listener, nil
}

// addressOf gives the URL at which this machine reaches the listener.
func addressOf(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return "http://" + address.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// ownHosts gives the names under which a listener beyond loopback is rightly called: its addresses, which no page
// can be made to mean something else, and the machine's name.
func ownHosts(address net.Addr) []string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil || isLoopback(host) {
		return nil
	}
	hosts := []string{host, hostname()}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsUnspecified() {
		return hosts
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return hosts
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			hosts = append(hosts, network.IP.String())
		}
	}
	return hosts
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// listening says where the server is, once it can be reached; again says that stdout was told before.
func listening(
	a *cli.Run, address, dir string, damage error, times clock.Status, again bool, logger *slog.Logger,
) {
	data := struct {
		Version  string `json:"version"`
		Address  string `json:"address"`
		Home     string `json:"home"`
		PID      int    `json:"pid"`
		ReadOnly string `json:"readOnly,omitempty"`
		Clock    string `json:"clock,omitempty"`
	}{
		Version: cli.Version(),
		Address: address,
		Home:    dir,
		PID:     os.Getpid(),
	}
	logger.Info("listening", "address", address, "home", dir, "pid", data.PID, "version", data.Version)
	readOnly := ""
	if damage != nil {
		data.ReadOnly = damage.Error()
		readOnly = " READ-ONLY"
		level := slog.LevelError
		if engine.Asked(damage) {
			level = slog.LevelInfo
		}
		logger.Log(context.Background(), level, "READ-ONLY: the server answers reads and refuses writes",
			"why", damage, "next", engine.Advice(damage))
	}
	if again {
		return
	}
	var next string
	data.Clock, next = times.Explain()
	a.Result(data, func() {
		a.Print("maestro %s listening on %s (home %s)%s\n", data.Version, address, dir, readOnly)
		if data.Clock != "" {
			a.Print("CLOCK: %s\n       %s\n", data.Clock, next)
		}
	})
}
