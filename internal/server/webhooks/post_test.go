package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// verify is a receiver's part of Standard Webhooks, written from the text of its specification: the secret is base64
// after "whsec_", the signed content is "<id>.<timestamp>.<payload>", the signature header is a list of versions and
// signatures separated by spaces, and a timestamp that is too old or too new is refused.
func verify(secret string, header http.Header, payload string, now time.Time) error {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return fmt.Errorf("the secret is not one: %w", err)
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return fmt.Errorf("a header is missing: %w", err)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > 5*time.Minute || age < -5*time.Minute {
		return errors.New("the timestamp is not near")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, payload)
	for _, versioned := range strings.Split(header.Get("webhook-signature"), " ") {
		version, signature, _ := strings.Cut(versioned, ",")
		got, err := base64.StdEncoding.DecodeString(signature)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature is good")
}

// The example of the specification, and messages as they arrive.
func TestSignature(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("the example is signed with %s, want %s", got, want)
	}
	var faults atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _, _ := bodyOf(r)
		if err := verify(secret, r.Header, string(body), time.Now()); err != nil {
			faults.Store(err)
		}
		if err := verify("whsec_"+base64.StdEncoding.EncodeToString([]byte("another")), r.Header, string(body),
			time.Now()); err == nil {
			faults.Store(errors.New("another secret verifies it too"))
		}
	}))
	defer server.Close()
	p := newPoster(allowed{netip.MustParsePrefix("127.0.0.0/8")}, "test")
	defer p.close()
	for _, body := range []string{`{"a":1}`, "", "ü\n.", strings.Repeat("x", 700_000)} {
		out := p.post(t.Context(), server.URL, key, message{"id-1", []byte(body)})
		if out.problem != "" || out.status != 200 {
			t.Errorf("it failed: %+v", out)
		}
	}
	if err := faults.Load(); err != nil {
		t.Error(err)
	}
}

// Addresses to which nothing is sent, unless the operator allows them.
func TestAddresses(t *testing.T) {
	none := allowed(nil)
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1",
		"::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
		"64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	} {
		var refused *AddressError
		if err := none.check(netip.MustParseAddr(text), true); !errors.As(err, &refused) || refused.Next() == "" {
			t.Errorf("%s is not refused: %v", text, err)
		}
		if err := none.control(true)("tcp", net.JoinHostPort(text, "443"), nil); err == nil {
			t.Errorf("a connection to %s is not refused", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"} {
		if err := none.check(netip.MustParseAddr(text), true); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
		if err := none.check(netip.MustParseAddr(text), false); err == nil {
			t.Errorf("%s gets events without TLS", text)
		}
	}
	if err := none.control(true)("tcp", "example.org:443", nil); err == nil {
		t.Error("a connection to a name is not refused")
	}
	some, err := ParseAllowed([]string{"10.1.0.0/16", "127.0.0.1", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": true, "127.0.0.2": false, "::ffff:127.0.0.1": true,
		"fd12::1": true, "fe80::1": false, "::1": false,
	} {
		if err := allowed(some).check(netip.MustParseAddr(text), false); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, bad := range []string{"", "x", "10.0.0.0/33", "10.1.2.3/16", "example.org"} {
		if _, err := ParseAllowed([]string{bad}); err == nil {
			t.Errorf("%q is taken for a network", bad)
		}
	}
}

// What a URL shows before anybody connects.
func TestURLs(t *testing.T) {
	none, some := allowed(nil), allowed{netip.MustParsePrefix("127.0.0.0/8")}
	for url, ok := range map[string][2]bool{ // without networks, with loopback
		"https://example.org/":         {true, true},
		"http://example.org/":          {false, true}, // its address decides
		"https://127.0.0.1:8443/":      {false, true},
		"http://127.0.0.1/":            {false, true},
		"https://localhost/":           {false, true},
		"https://a.LOCALHOST./":        {false, true},
		"https://[::1]/":               {false, false},
		"https://[::ffff:127.0.0.1]/":  {false, true},
		"https://169.254.169.254/meta": {false, false},
		"https://1.1.1.1/":             {true, true},
		"http://1.1.1.1/":              {false, false},
		"https://%zz/":                 {false, false},
		"file:///etc/passwd":           {true, true}, // refused by the decision
	} {
		if err := none.checkURL(url); (err == nil) != ok[0] {
			t.Errorf("%s: %v", url, err)
		}
		if err := some.checkURL(url); (err == nil) != ok[1] {
			t.Errorf("%s with loopback: %v", url, err)
		}
	}
}

// A URL without TLS is accepted as soon as any network is allowed, with a warning: only its address decides. What Go
// says about one that cannot be read is not shown.
func TestDoubts(t *testing.T) {
	some := allowed{netip.MustParsePrefix("10.0.0.0/8")}
	for url, want := range map[string]bool{
		"http://example.org:80/": true, "https://example.org/": false, "http://10.0.0.1/": false, "http://%zz": false,
	} {
		doubt := some.doubt(url)
		if (doubt != "") != want || want && !strings.Contains(doubt, "example.org:80 only if its name leads") ||
			want && !strings.HasSuffix(doubt, "10.0.0.0/8") {
			t.Errorf("%s: %q", url, doubt)
		}
		if allowed(nil).doubt(url) != "" {
			t.Errorf("%s is in doubt, and is refused", url)
		}
	}
	for _, url := range []string{"https://example.org/%zz", "https://example.org/\x1b[31m"} {
		if err := some.checkURL(url); err != errUnreadable { //nolint:errorlint // it is not wrapped
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The pages say how long a receiver has for its answer.
func TestPagesSayHowLongItTakes(t *testing.T) {
	within := fmt.Sprintf("%d s", int(answerWithin.Seconds()))
	for page, texts := range map[string][]string{
		"guide/webhooks.md": {"none within " + within, "It waits for at most " + within},
		"contract.md":       {"no answer within " + within},
	} {
		content, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(content), text) {
				t.Errorf("docs/%s does not say %q", page, text)
			}
		}
	}
}

// counted is a listener that counts its connections.
func counted(t *testing.T, address string) (string, *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	n := &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String(), n
}

// A redirect to a private address is refused, and so is every other one: nobody connects there.
func TestRedirectToPrivate(t *testing.T) {
	inside, connections := counted(t, "127.0.0.1:0")
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+inside+"/latest/meta-data")
			w.WriteHeader(code)
		}))
		p := newPoster(allowed{netip.MustParsePrefix("127.0.0.0/8")}, "test")
		out := p.post(t.Context(), server.URL, []byte("k"), message{"i", nil})
		if out.status != code || out.problem != fmt.Sprintf("it answered %d, and redirects are not followed", code) {
			t.Errorf("%d: %+v", code, out)
		}
		p.close()
		server.Close()
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made to the target", n)
	}
}

// A name that leads to a private address is refused when the connection is made, whatever it led to before. The
// environment's proxy is not used.
func TestNameOfPrivate(t *testing.T) {
	inside, connections := counted(t, "127.0.0.1:0")
	t.Setenv("HTTP_PROXY", "http://"+inside)
	t.Setenv("HTTPS_PROXY", "http://"+inside)
	_, port, _ := net.SplitHostPort(inside)
	p := newPoster(nil, "test")
	defer p.close()
	for _, url := range []string{
		"https://localhost:" + port, "https://127.0.0.1:" + port, "http://localhost:" + port,
		"https://[::ffff:127.0.0.1]:" + port,
	} {
		out := p.post(t.Context(), url, []byte("k"), message{"i", nil})
		if !strings.Contains(out.problem, "nothing is sent to") {
			t.Errorf("%s: %+v", url, out)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// What is wrong with a receiver is said in our words.
func TestProblems(t *testing.T) {
	loopback := allowed{netip.MustParsePrefix("127.0.0.0/8")}
	p := newPoster(loopback, "test")
	defer p.close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for url, want := range map[string]string{
		secure.URL: "its TLS certificate is not valid: no known authority signed it",
		strings.Replace(plain.URL, "http://", "https://", 1): "it does not speak TLS",
		plain.URL:                      "it answered 404",
		closed.URL:                     "it refused the connection",
		"http://127.0.0.1:1/\x7f":      "the URL cannot be used",
		"http://[2001:db8::1]/":        "nothing is sent to 2001:db8::1, an address for examples",
		"https://169.254.169.254/meta": "nothing is sent to 169.254.169.254, a link-local address",
	} {
		if out := p.post(t.Context(), url, []byte("k"), message{"i", nil}); !strings.HasPrefix(out.problem, want) {
			t.Errorf("%s: %q, want %q", url, out.problem, want)
		}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{IsNotFound: true}, "its name does not exist"},
		{&net.DNSError{IsTemporary: true}, "its name cannot be looked up"},
	} {
		if got := problemOf(t.Context(), test.err); got != test.want {
			t.Errorf("%v is called %q", test.err, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := p.post(ctx, plain.URL, []byte("k"), message{"i", nil}); out.problem == "" {
		t.Error("a request that was broken off succeeded")
	}
}
