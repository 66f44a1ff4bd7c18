package confine

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// serve accepts connections to a port of this machine until the test ends.
func serve(t *testing.T, network string) (port int) {
	t.Helper()
	var config net.ListenConfig
	config.SetMultipathTCP(network == "mptcp")
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		must(t, listener.Close())
		<-done
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// A supervisor recognises its agent by the process at the other end of its socket, also where the agent has process ids
// of its own.
func TestPeerIsADescendant(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		w := newWorld(t)
		path := filepath.Join(w.home, "maestro/supervisor")
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		must(t, err)
		defer listener.Close()
		w.policy.Sockets = append(w.policy.Sockets, path)
		cmd, output := w.command(shell("(setsid {self} program talk $SOCKET; true) ; true")...)
		cmd.Env = append(cmd.Env, "SOCKET="+path)
		process, err := Start(t.Context(), agentExec(), w.policy, layers, cmd)
		must(t, err)
		conn, err := listener.AcceptUnix()
		must(t, err)
		raw, err := conn.SyscallConn()
		must(t, err)
		var peer *unix.Ucred
		must(t, raw.Control(func(fd uintptr) {
			peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		}))
		must(t, err)
		pid := int(peer.Pid)
		for pid > 1 && pid != process.Pid() {
			pid = parentOf(t, pid)
		}
		if pid != process.Pid() || int(peer.Uid) != os.Getuid() {
			t.Errorf("the peer is process %d of user %d, and not below %d", peer.Pid, peer.Uid, process.Pid())
		}
		must(t, conn.Close())
		if err := process.Wait(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

func parentOf(t *testing.T, pid int) (parent int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "PPid: %d", &parent); n == 1 {
			return parent
		}
	}
	t.Fatalf("process %d has no parent", pid)
	return 0
}

func TestNetwork(t *testing.T) {
	open, closed := serve(t, "mptcp"), serve(t, "mptcp")
	everything(t, Policy{})
	available := Available(t.Context(), agentExec())
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	tests := []struct {
		name string
		argv []string
		// refused are the networks that refuse it.
		refused map[Network]bool
	}{
		{"an allowed port", helper("connect", "tcp", address(open)), map[Network]bool{None: true}},
		{"another port", helper("connect", "tcp", address(closed)), map[Network]bool{None: true, Ports: true}},
		{
			"another port by MPTCP", helper("connect-protocol", fmt.Sprint(closed), fmt.Sprint(unix.IPPROTO_MPTCP)),
			map[Network]bool{None: true, Ports: true},
		},
		{
			"another port by TCP Fast Open", helper("connect-fast", fmt.Sprint(closed)),
			map[Network]bool{None: true, Ports: true},
		},
		{"own loopback", helper("loopback"), map[Network]bool{Ports: true}},
		{"an allowed socket", helper("connect", "unix", "{allowed}"), nil},
		{
			"a socket outside", helper("connect", "unix", "{socket}"),
			map[Network]bool{Open: true, Ports: true, None: true},
		},
		{"the host of a virtual machine", helper("vsock"), map[Network]bool{Ports: true, None: true}},
	}
	for _, test := range tests {
		for _, network := range []Network{Open, Ports, None} {
			t.Run(fmt.Sprintf("%s/%q", test.name, network), func(t *testing.T) {
				w := newWorld(t)
				w.policy.Network, w.policy.Ports = network, []uint16{uint16(open)}
				cmd, output := w.command(test.argv...)
				code := w.run(w.policy.Layers(available), cmd)
				if (code != 0) != test.refused[network] {
					t.Errorf("exit code %d\n%s", code, output)
				}
			})
		}
	}
}
