package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
	"maestro/internal/testing/logtest"
)

// clusterTenants is how many accounts a cluster has. Each has its own streams: after a stream is deleted and recreated
// under the same name, the servers disagree for a while whether it exists.
const clusterTenants = 64

// noPeers is nats-server's code of "no suitable peers for placement".
const noPeers = 10005

// tenants is the configuration of the accounts.
func tenants() string {
	var b strings.Builder
	b.WriteString("system_account: SYS\naccounts {\n SYS: {}\n")
	for i := range clusterTenants {
		fmt.Fprintf(&b, " T%[1]d: { jetstream: enabled, users: [{user: t%[1]d, password: t}] }\n", i)
	}
	b.WriteString("}\n")
	return b.String()
}

// startCluster runs three servers in this process, with routes on the loopback.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	var ports [3]int
	var routes []*url.URL
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().(*net.TCPAddr).Port
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: l.Addr().String()})
		defer func() { _ = l.Close() }()
	}
	dir := t.TempDir()
	servers := make([]*server.Server, len(ports))
	for i := range servers {
		o := &server.Options{
			ServerName: fmt.Sprintf("node-%d", i),
			Host:       "127.0.0.1", // without a listener for clients, nats-server starts no routes
			Port:       -1,
			NoSigs:     true,
			NoLog:      true,
			JetStream:  true,
			StoreDir:   filepath.Join(dir, fmt.Sprint(i)),
			Cluster:    server.ClusterOpts{Name: "maestro-test", Host: "127.0.0.1", Port: ports[i]},
			Routes:     routes,
		}
		if err := o.ProcessConfigString(tenants()); err != nil {
			t.Fatal(err)
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = s
	}
	return servers
}

func runCluster(t *testing.T) []*server.Server {
	servers := startCluster(t)
	t.Cleanup(func() {
		for _, s := range servers {
			stop(s)
		}
	})
	for _, s := range servers {
		s.Start()
	}
	for _, s := range servers {
		if !s.ReadyForConnections(patience) {
			t.Fatal("a server of the cluster did not start")
		}
	}
	nc := connectTo(t, servers[0], 0)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ready, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for { // until the cluster has a leader that knows all three servers
		try, cancel := context.WithTimeout(ready, time.Second)
		_, err := js.CreateStream(try, jetstream.StreamConfig{Name: "PROBE", Replicas: 3})
		if err == nil {
			cancel()
			return servers
		}
		t.Logf("the cluster is not ready: %v", err)
		if ready.Err() != nil {
			cancel()
			t.Fatal("the cluster did not become ready")
		}
		<-try.Done() // a refusal comes at once
		cancel()
	}
}

func connectTo(t *testing.T, s *server.Server, tenant int) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo(fmt.Sprint("t", tenant), "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(nc) })
	return nc
}

// connectWhenPlaced connects once the cluster has three servers for each stream: a leader that was just elected may not
// have heard from the others yet, and refuses at once.
func connectWhenPlaced(ctx context.Context, nc *nats.Conn, o Options) (*Bus, error) {
	b := &Bus{options: o.withDefaults(), nc: nc}
	for {
		err := b.attach(ctx)
		if err == nil {
			return b, nil
		}
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || refused.ErrorCode != noPeers || ctx.Err() != nil {
			return nil, errors.Join(err, b.Close())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestClusterConforms(t *testing.T) {
	t.Parallel()
	servers := runCluster(t)
	tenant := 0
	logtest.Run(t, func(t *testing.T) logtest.Fixture {
		tenant++
		first, other := connectTo(t, servers[0], tenant), connectTo(t, servers[1], tenant)
		ready, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		open := func(nc *nats.Conn) *Bus {
			o := Options{Replicas: 3, Timeout: 2 * time.Second, Logger: testLogger(t)}
			b, err := connectWhenPlaced(ready, nc, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			return b
		}
		b := open(first)
		second := open(other)
		return logtest.Fixture{
			Log:      b,
			Second:   second,
			Stranger: func(ctx context.Context, m events.Message) error { return publish(ctx, other, m) },
			LoseAck:  func(t *testing.T) func() { return loseAcks(t, b) },
			StepDown: func(t *testing.T) {
				if _, err := other.Request("$JS.API.STREAM.LEADER.STEPDOWN."+StreamName, nil,
					5*time.Second); err != nil {
					t.Logf("step down: %v", err)
				}
			},
			Cannot: map[string]string{
				"Crash":    "what a replica keeps is its operator's to say; nats-server's own tests cover its recovery",
				"FillDisk": "the disks of a cluster are its operator's",
				"Damage":   "a damaged replica is repaired by the others",
			},
		}
	})
}
