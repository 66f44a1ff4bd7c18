package confine

import (
	"fmt"
	"net"
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
