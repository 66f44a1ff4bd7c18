package api

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"maestro/service"
)

// precedence decides which connection gives way: the lowest kind, then the largest share, then the longest idle.
type precedence struct {
	kind, share int
	idle        time.Time
}

// dueOf looks at all connections for the one that gives way; nil if all stay.
func dueOf(all []*connection) *precedence {
	credentials, projects, free := map[string]int{}, map[string]int{}, 0
	for _, c := range all {
		credentials[c.holder.credential]++
		projects[c.holder.project]++
		if !c.busy {
			free++
		}
	}
	crowded := free < len(all)/rooms
	var due *precedence
	for _, c := range all {
		p := precedence{idle: c.idle, share: credentials[c.holder.credential]}
		if c.holder.class == service.ClassSession {
			p.share *= projects[c.holder.project]
		}
		switch {
		case !c.busy && c.holder.ended:
			p.kind = 0
		case c.busy && c.holder.class == service.ClassSession && crowded:
			p.kind = 1
		case !c.busy:
			p.kind = 2
		case c.holder.class == service.ClassSession:
			p.kind = 3
		case c.holder.class == service.ClassReader:
			p.kind = 4
		default:
			continue
		}
		if due == nil || p.kind < due.kind || p.kind == due.kind && (p.share > due.share ||
			p.share == due.share && p.idle.Before(due.idle)) {
			due = &p
		}
	}
	return due
}

// holders are some of each class.
func holders() (all []holder) {
	for i := range 6 {
		session := holder{fmt.Sprint("session ", i), fmt.Sprint("project ", i/3), service.ClassSession, false}
		all = append(all, session, holder{session.credential, session.project, session.class, true},
			holder{fmt.Sprint("address ", i), "nobody", service.ClassAddress, false})
	}
	for i, class := range []service.Class{service.ClassReader, service.ClassReader, service.ClassAdmin} {
		name := fmt.Sprint("user ", i)
		all = append(all, holder{name, name, class, false})
	}
	return all
}

// TestTheOneThatGivesWay: whatever connections come, go, and serve, the one that gives way is the one that a look at
// all of them finds; among those of an address too.
func TestTheOneThatGivesWay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	who := holders()
	l := Bound(nil, &service.Limits{})
	var addresses []netip.Addr
	for _, address := range []string{"127.0.0.1", "192.0.2.1", "192.0.2.2"} {
		addresses = append(addresses, netip.MustParseAddr(address))
	}
	var all []*connection
	check := func(step int, w *crowd, all []*connection) {
		want := dueOf(all)
		got := w.leastDue()
		if want == nil || got == nil {
			if want != nil || got != nil {
				t.Fatalf("step %d: %v gives way, want %v", step, got, want)
			}
			return
		}
		if w.all != len(all) || !got.idle.Equal(want.idle) {
			t.Fatalf("step %d: of %d connections, %+v gives way, want %+v", step, w.all, got.holder, want)
		}
	}
	clock := time.Now()
	for step := range 20_000 {
		most := 60
		if step > 10_000 {
			most = 6
		}
		switch n := random.IntN(10); {
		case len(all) < most && n < 4 || len(all) == 0:
			address := addresses[random.IntN(3)]
			c := &connection{
				Conn:     nowhere{},
				listener: l,
				address:  address,
				holder:   who[2],
			}
			if !l.add(c) {
				t.Fatal("no room")
			}
			all = append(all, c)
		case n < 8:
			c := all[random.IntN(len(all))]
			c.holder, c.busy = who[random.IntN(len(who))], random.IntN(3) > 0
			c.busy = c.busy && !c.holder.ended && c.holder.class != service.ClassAddress
			l.mu.Lock()
			c.place()
			l.mu.Unlock()
		default:
			i := random.IntN(len(all))
			_ = all[i].Close()
			_ = all[i].Close()
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		}
		for clock.Equal(time.Now()) { // no two connections are idle for equally long
			runtime.Gosched()
		}
		clock = time.Now()
		check(step, l.everywhere, all)
		for _, address := range addresses[1:] {
			var here []*connection
			for _, c := range all {
				if c.address == address {
					here = append(here, c)
				}
			}
			if l.from[address] != nil {
				check(step, l.from[address], here)
			} else if len(here) > 0 {
				t.Fatalf("step %d: %s is not counted", step, address)
			}
		}
	}
	for _, c := range all {
		_ = c.Close()
	}
	w := l.everywhere
	if w.all+w.free+len(w.groups)+len(w.pools)+len(l.from) != 0 {
		t.Errorf("something is left of closed connections: %+v", w)
	}
}

// nowhere is a connection to nobody.
type nowhere struct{ net.Conn }

func (nowhere) Close() error                { return nil }
func (nowhere) CloseWrite() error           { return nil }
func (nowhere) SetDeadline(time.Time) error { return nil }

// TestMakingRoomLooksAtFewConnections: however many connections and callers there are, a few comparisons find the one
// that gives way.
func TestMakingRoomLooksAtFewConnections(t *testing.T) {
	const enough = 300
	l := Bound(nil, &service.Limits{})
	who := func(i int) holder {
		switch i % 3 {
		case 0:
			return holder{fmt.Sprint("session ", i), fmt.Sprint("project ", i%100), service.ClassSession, i%2 == 0}
		case 1:
			return holder{"address loopback", "nobody", service.ClassAddress, false}
		}
		return holder{fmt.Sprint("address ", i), "nobody", service.ClassAddress, false}
	}
	for i := range 3 * l.total {
		before := l.everywhere.steps
		c := &connection{Conn: nowhere{}, listener: l, holder: who(i)}
		if !l.add(c) {
			t.Fatal("no room")
		}
		if steps := l.everywhere.steps - before; steps > enough {
			t.Fatalf("connection %d takes %d comparisons", i, steps)
		}
	}
	if l.everywhere.all != l.total {
		t.Errorf("%d connections are open", l.everywhere.all)
	}
}

// TestFewConnectionsLinger: net/http keeps a connection whose client may still be sending for a while; there are few.
func TestFewConnectionsLinger(t *testing.T) {
	l := Bound(nil, &service.Limits{})
	var all []*connection
	for range 2 * lingersMost {
		c := &connection{Conn: nowhere{}, listener: l}
		l.add(c)
		_ = c.CloseWrite()
		all = append(all, c)
	}
	if l.everywhere.all != lingersMost {
		t.Errorf("%d connections linger", l.everywhere.all)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if l.everywhere.all != 0 || l.lingers != 0 {
		t.Errorf("%d connections linger after their end, %d are open", l.lingers, l.everywhere.all)
	}
}

// flood is a listener for which connections wait without an end.
type flood struct{ net.Listener }

func (flood) Accept() (net.Conn, error) { return remote{}, nil }

type remote struct{ nowhere }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (remote) Read([]byte) (int, error) { return 0, io.EOF }

// TestWorkGoesBeforeNewConnections: between two of a flood of new connections, the work at hand goes on.
func TestWorkGoesBeforeNewConnections(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const flooded = 1000
	l := Bound(flood{}, &service.Limits{})
	var worked atomic.Int64
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			worked.Add(1)
			runtime.Gosched()
		}
	}()
	runtime.Gosched()
	before := worked.Load()
	for range flooded {
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	done := worked.Load() - before
	stop.Store(true)
	<-stopped
	if done < flooded/2 {
		t.Errorf("%d steps of work between %d connections", done, flooded)
	}
}
