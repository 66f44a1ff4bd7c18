package natslive

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"maestro/events"
	"maestro/service"
)

// from is a client that connects from an address.
type from struct {
	server.ClientAuthentication

	address net.Addr
	token   string
}

func (c from) RemoteAddress() net.Addr     { return c.address }
func (c from) GetOpts() *server.ClientOpts { return &server.ClientOpts{Token: c.token} }
func (c from) RegisterUser(_ *server.User) {}
func at(t *testing.T, address string) *net.TCPAddr {
	t.Helper()
	found, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A token that connects from an address for the first time is an event, as over HTTP, and the token list shows the use.
// A client without a valid token is counted.
func TestUsesAreNoted(t *testing.T) {
	w := newWorld(t, nil)
	w.run(w.RecordUses)
	token := w.token(`{"name":"ann","kind":"auditor"}`)
	own := w.connect(adminToken)
	s := own.follow("maestro.live.>")
	for _, address := range []string{"127.0.0.1:1", "192.0.2.1:1", "192.0.2.1:2"} {
		if !w.live.Check(from{address: at(t, address), token: token}) {
			t.Fatalf("ann may not connect from %s", address)
		}
	}
	if m := own.next(s); !strings.HasSuffix(m.Subject, ".token.ann") {
		t.Errorf("it announces %s", m.Subject)
	}
	if w.live.Check(from{address: at(t, "192.0.2.2:1"), token: "wrong"}) {
		t.Fatal("a wrong token connects")
	}
	if !w.live.Check(from{address: at(t, "192.0.2.9:1"), token: token}) {
		t.Fatal("ann may not connect")
	}
	own.next(s)
	var noted []string
	for _, m := range w.log.all() {
		event, err := events.Decode(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		if used, ok := event.Data.(*events.TokenUsed); ok {
			noted = append(noted, used.Name+" "+used.Address)
		}
	}
	if want := []string{"ann 192.0.2.1", "ann 192.0.2.9"}; !slices.Equal(noted, want) {
		t.Errorf("it notes %q, want %q", noted, want)
	}
	from := ""
	err := w.Look(t.Context(), admin(), func(v service.View) error {
		list, err := v.ListTokens()
		if err != nil {
			return err
		}
		page, err := list()
		for _, token := range page.Items {
			if token.Name == "ann" && token.LastUsedFrom != nil {
				from = *token.LastUsedFrom
			}
		}
		return err
	})
	if err != nil || from != "192.0.2.9" {
		t.Errorf("the list shows the use from %q, %v", from, err)
	}
	if n := w.Load().Unauthenticated; n != 1 {
		t.Errorf("it counts %d clients without a valid token", n)
	}
}
