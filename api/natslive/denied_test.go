package natslive

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"maestro/events"
)

// forbidden are subjects to which nobody may subscribe.
var forbidden = []string{
	">", "*", "*.>", "maestro.>", "maestro.*.>", "maestro.live", "maestro.live=.>",
	"maestro.ev.>", "maestro.ev.*.task.>", "maestro.ev.proj.task.task_1", "maestro.denied.>", "maestro.cmd.>",
	"$JS.API.>", "$JS.API.INFO", "$JS.API.STREAM.MSG.GET.MAESTRO", "$JS.>", "$JS.ACK.>", "$JS.EVENT.>",
	"$SYS.>", "$SYS.REQ.SERVER.PING", "$SYS.ACCOUNT.*.CONNECT", "$KV.>", "$O.>", "$O.MAESTRO_BLOBS.C.>", "$G.>",
	"_INBOX.>", "_INBOX.*", "_INBOX.another.1", "_GR_.>", "_R_.>", "_REQS.>",
}

// unpublished are subjects to which nobody may publish.
var unpublished = append([]string{
	"maestro.live.proj.task.task_1", "maestro.ev.proj.task.task_1", "maestro.denied.a.b", "$JS.API.STREAM.NAMES",
	"$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.DELETE.MAESTRO", "$JS.API.STREAM.PURGE.MAESTRO",
	"$JS.API.STREAM.MSG.DELETE.MAESTRO", "$JS.API.CONSUMER.CREATE.MAESTRO", "$JS.API.DIRECT.GET.MAESTRO",
	"$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$KV.bucket.key", "_INBOX.another.1", "anything",
}, "$JS.API.INFO")

// denied requires that the server has refused what the client asked for last. The answer to a flush follows a refusal.
func (c *client) denied(operation, subject string) {
	c.world.Helper()
	if err := c.Flush(); err != nil {
		c.world.Fatalf("%s %s: %v", operation, subject, err)
	}
	err := c.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%s to %q", operation, subject)) {
		c.world.Errorf("%s %s was not refused; the last refusal is: %v", operation, subject, err)
	}
}

// Whatever a client tries besides following is denied, whoever its token belongs to, and nothing reaches it.
func TestEverythingElseIsDenied(t *testing.T) {
	w := newWorld(t, nil)
	shop, other := w.make("project:create", `{"name":"Shop"}`), w.make("project:create", `{"name":"Other"}`)
	readOnly := w.token(`{"name":"rob","kind":"read-only","projectIds":["` + shop + `"]}`)
	for who, token := range map[string]string{
		"admin":     adminToken,
		"auditor":   w.token(`{"name":"ann","kind":"auditor"}`),
		"read-only": readOnly,
	} {
		t.Run(who, func(t *testing.T) {
			w := &world{
				T:       t,
				Service: w.Service,
				log:     w.log,
				live:    w.live,
			}
			subjects := forbidden
			if who == "read-only" {
				subjects = append([]string{
					"maestro.live.>", "maestro.live.*.>", "maestro.live.*.task.*", "maestro.live.=.>",
					"maestro.live." + other + ".>", events.LiveSubjects(shop + "x"),
				}, subjects...)
			}
			c := w.connect(token)
			for _, subject := range subjects {
				if _, err := c.SubscribeSync(subject); err != nil {
					t.Fatal(err)
				}
				c.denied("Subscription", subject)
				if _, err := c.QueueSubscribeSync(subject, "group"); err != nil {
					t.Fatal(err)
				}
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
				if said := c.LastError().Error(); !strings.Contains(said, fmt.Sprintf("%q using queue", subject)) {
					t.Errorf("a group on %s was not refused; the last refusal is: %s", subject, said)
				}
			}
			for _, subject := range unpublished {
				if err := c.Publish(subject, []byte("{}")); err != nil {
					t.Fatal(err)
				}
				c.denied("Publish", subject)
			}
			// A request needs an inbox and a publication: neither is there.
			inbox := c.NewInbox()
			if _, err := c.SubscribeSync(inbox); err != nil {
				t.Fatal(err)
			}
			c.denied("Subscription", inbox)
			if err := c.PublishRequest("$JS.API.INFO", inbox, nil); err != nil {
				t.Fatal(err)
			}
			c.denied("Publish", "$JS.API.INFO")
		})
	}
	// What one token tries to say reaches nobody, and the log did not change.
	if n := len(w.log.all()); n != 4 {
		t.Errorf("the log has %d events", n)
	}
}

// Only a valid token of a user connects.
func TestWhoMayConnect(t *testing.T) {
	w := newWorld(t, nil)
	project := w.make("project:create", `{"name":"Shop"}`)
	task := w.make("task:create", `{"project":"`+project+`","title":"One"}`)
	spawned := w.do("session:spawn", `{"project":"`+project+`","role":"orchestrator","taskIds":["`+task+`"]}`)
	if spawned.Token == "" {
		t.Fatal("the session has no secret")
	}
	good := w.token(`{"name":"ann","kind":"auditor"}`)
	for name, options := range map[string][]nats.Option{
		"nobody":          nil,
		"an empty token":  {nats.Token("")},
		"another token":   {nats.Token("x")},
		"a forged token":  {nats.Token(good + "x")},
		"a session":       {nats.Token(spawned.Token)},
		"a user only":     {nats.UserInfo("admin", "")},
		"the feed's name": {nats.UserInfo("maestro", "maestro")},
		"a token as user": {nats.UserInfo(good, "")},
	} {
		if c, err := w.dial(options...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	w.connect(good)
	for _, options := range [][]nats.Option{{nats.UserInfo("anybody", good)}, {nats.Token(adminToken)}} {
		if _, err := w.dial(options...); err != nil {
			t.Error(err)
		}
	}
}

// A token that was revoked loses its connections, and gets no others; other tokens keep theirs.
func TestRevoked(t *testing.T) {
	w := newWorld(t, nil)
	token := w.token(`{"name":"ann","kind":"auditor"}`)
	first, second, mine := w.connect(token), w.connect(token), w.connect(adminToken)
	s := mine.follow("maestro.live.>")
	w.do("token:revoke", `{"name":"ann"}`)
	<-first.closed
	<-second.closed
	if _, err := w.dial(nats.Token(token)); err == nil {
		t.Errorf("connected again: %v", err)
	}
	w.token(`{"name":"ann","kind":"auditor"}`)
	if _, err := w.dial(nats.Token(token)); err == nil {
		t.Errorf("connected with the earlier token of the name: %v", err)
	}
	if m := mine.next(s); !strings.HasSuffix(m.Subject, ".token.ann") {
		t.Errorf("got %s", m.Subject)
	}
}

// A token that expires loses its connections.
func TestExpired(t *testing.T) {
	w := newWorld(t, nil)
	token := w.token(`{"name":"ann","kind":"auditor","expiresAt":` +
		fmt.Sprint(time.Now().Add(time.Second).UnixMilli()) + `}`)
	<-w.connect(token).closed
}

// Connections, subscriptions and sizes are bounded.
func TestBounds(t *testing.T) {
	w := newWorld(t, nil)
	token := w.token(`{"name":"ann","kind":"auditor"}`)
	for range perCredential {
		w.connect(token)
	}
	if _, err := w.dial(nats.Token(token)); err == nil {
		t.Errorf("one connection too many: %v", err)
	}
	c := w.connect(adminToken)
	for range maxSubscriptions + 1 {
		if _, err := c.SubscribeSync("maestro.live.>"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-c.wrong; !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("one subscription too many: %v", err)
	}
	if err := c.Publish("x", make([]byte, maxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a long payload: %v", err)
	}
}

// A client that reads nothing is cut off. Neither a writer nor another client waits for it.
func TestSlowReaderIsCut(t *testing.T) {
	w := newWorld(t, nil)
	project := w.make("project:create", `{"name":"Shop"}`)
	slow, err := net.Dial("tcp", w.live.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	said := make([]byte, 1)
	if _, err := fmt.Fprintf(slow, "CONNECT {\"auth_token\":%q,\"verbose\":false,\"headers\":true}\r\n"+
		"SUB maestro.live.> 1\r\nPING\r\n", adminToken); err != nil {
		t.Fatal(err)
	}
	for read := ""; !strings.HasSuffix(read, "PONG\r\n"); read += string(said) {
		if _, err := slow.Read(said); err != nil {
			t.Fatal(err)
		}
	}
	good := w.connect(adminToken)
	s := good.follow("maestro.live.>")
	text := strings.Repeat("x", 60<<10)
	const many = 400 // 24 MB, more than the buffers of the sockets and of the server hold
	for range many {
		w.do("task:create", `{"project":"`+project+`","title":"Long","description":"`+text+`"}`)
	}
	for range many {
		good.next(s)
	}
	// What was sent before the cut can be read, and then the connection is over.
	rest, _ := io.ReadAll(slow)
	closed, err := w.live.nats.Connz(&server.ConnzOptions{State: server.ConnClosed})
	if err != nil || len(closed.Conns) != 1 || !strings.HasPrefix(closed.Conns[0].Reason, "Slow Consumer") {
		t.Errorf("closed, with another reason: %+v, %v", closed, err)
	}
	got := regexp.MustCompile(`Maestro-Position: (\d+)\.`).FindAllSubmatch(rest, -1)
	if len(got) == 0 || len(got) >= many {
		t.Errorf("the slow reader got %d events", len(got))
	}
	for i, at := range got { // up to the cut, it misses nothing
		if want := fmt.Sprint(i + 2); string(at[1]) != want {
			t.Fatalf("the slow reader got event %s where %s should be", at[1], want)
		}
	}
}

// A feed without clients ends, and the next client starts it again.
func TestIdle(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(adminToken)
	w.tick <- time.Now()
	s := c.follow("maestro.live.>")
	w.make("project:create", `{"name":"First"}`)
	c.next(s) // a tick does not end the feed of a client
	c.Close()
	<-c.closed
	f := w.live.feeds["admin.0"]
	for running := true; running; {
		w.tick <- time.Now()
		f.mu.Lock()
		running = f.end != nil
		f.mu.Unlock()
	}
	c = w.connect(adminToken)
	s = c.follow("maestro.live.>")
	w.make("project:create", `{"name":"Second"}`)
	if m := c.next(s); !strings.Contains(string(m.Data), "Second") {
		t.Errorf("got %s", m.Data)
	}
}

// With a certificate, a client without TLS gets nothing, and one with TLS follows.
func TestTLS(t *testing.T) {
	pair, roots := certificate(t)
	w := newWorld(t, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	plain, err := net.Dial("tcp", w.live.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	if _, err := fmt.Fprintf(plain, "CONNECT {\"auth_token\":%q}\r\nPING\r\n", adminToken); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buffer := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = plain.Read(buffer)
		said.Write(buffer[:n])
	}
	if strings.Contains(said.String(), "PONG") {
		t.Errorf("a client without TLS is served: %s", said.String())
	}
	c := w.connect(adminToken, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	s := c.follow("maestro.live.>")
	w.make("project:create", `{"name":"Shop"}`)
	c.next(s)
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// An address in use is an error that names it.
func TestAddressInUse(t *testing.T) {
	w := newWorld(t, nil)
	other, err := Start(t.Context(), Config{
		Service: w.Service,
		Address: w.live.Address().String(),
		Logger:  w.live.logger,
	})
	if err == nil {
		other.Close()
		t.Fatal("both listen")
	}
	if !strings.Contains(err.Error(), "in use") {
		t.Error(err)
	}
}

// A closed server serves nobody, and closing it twice is harmless.
func TestClose(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(adminToken)
	w.live.Close()
	<-c.closed
	w.live.Close()
}
