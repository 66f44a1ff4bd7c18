package listen

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"maestro/internal/failure"
)

// On listens on the address. last is the address at which the home's server listened before, "" if unknown: for port 0,
// its port is used again if it is on the same host and free.
func On(ctx context.Context, address, last string) (net.Listener, error) {
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
			Next:    "stop what listens there, or choose another address with --listen; port 0 picks a free one",
		}
	}
	return listener, nil
}

// URL returns the URL at which this machine reaches the listener.
func URL(scheme string, address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return scheme + "://" + address.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Hosts returns the legitimate host names of a listener beyond loopback: its addresses, which no page can redirect, and
// the machine's name.
func Hosts(address net.Addr, machine string) []string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil || IsLoopback(host) {
		return nil
	}
	hosts := []string{host, machine}
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

// IsLoopback reports whether a host is this machine, unreachable for any other.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
