package listen

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maestro/api"
	"maestro/internal/failure"
	"maestro/service"
)

// pair writes a new certificate for a name, valid until a time, and its key.
func pair(t *testing.T, dir, name string, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     until,
	}
	body, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	replace(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: body}))
	replace(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	return cert, key
}

// replace puts a file in the place of another, as programs do that renew certificates.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// serveTLS starts a server with the certificate, and returns its address.
func serveTLS(t *testing.T, c *Certificates, handler http.Handler, limits *service.Limits) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Until(ctx, api.Bound(c.Secure(listener), limits), handler, func() {}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// shakes makes a TLS connection and returns its state.
func shakes(address string, config *tls.Config) (tls.ConnectionState, error) {
	config.InsecureSkipVerify = true //nolint:gosec // the test looks at the certificate itself
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState(), nil
}

func shownBy(t *testing.T, address string) string {
	t.Helper()
	state, err := shakes(address, &tls.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return state.PeerCertificates[0].DNSNames[0]
}

// A certificate is read again when its files change. A pair that cannot be used changes nothing. The log reports it
// once, and /readyz as long as it is there.
func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "first.example", tomorrow())
	var log bytes.Buffer
	c, err := LoadCertificates(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	c.OnChange(func(fingerprint string) { told = append(told, fingerprint) })
	address := serveTLS(t, c, http.NotFoundHandler(), &service.Limits{})
	if name := shownBy(t, address); name != "first.example" || len(c.Warnings()) != 0 {
		t.Fatalf("it shows %s, warnings %v", name, c.Warnings())
	}
	first := c.Fingerprint()

	pair(t, dir, "second.example", tomorrow())
	if name := shownBy(t, address); name != "second.example" {
		t.Errorf("after a change it shows %s", name)
	}
	if len(told) != 1 || told[0] != c.Fingerprint() || told[0] == first {
		t.Errorf("told of %v", told)
	}

	good, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	for what, breaks := range map[string]func(){
		"garbage": func() { replace(t, cert, []byte("garbage")) },
		"another key's cert": func() {
			other, _ := pair(t, t.TempDir(), "x.example", tomorrow())
			copied(t, other, cert)
		},
		"nothing": func() { _ = os.Remove(cert) },
		"one that has expired": func() {
			pair(t, dir, "old.example", time.Now().Add(-time.Minute))
		},
	} {
		keyBefore, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		log.Reset()
		breaks()
		for range 3 {
			if name := shownBy(t, address); name != "second.example" {
				t.Errorf("%s: it shows %s", what, name)
			}
		}
		warned := c.Warnings()
		if len(warned) != 1 || warned[0].Code != "CERTIFICATE" || warned[0].Next == "" ||
			strings.Count(log.String(), "level=ERROR") != 1 {
			t.Errorf("%s: warnings %v, log:\n%s", what, warned, log.String())
		}
		replace(t, key, keyBefore)
		replace(t, cert, good)
		if name := shownBy(t, address); name != "second.example" || len(c.Warnings()) != 0 {
			t.Errorf("after %s: it shows %s, warnings %v", what, name, c.Warnings())
		}
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, to, content)
}

// A server does not start with a pair that nobody could use.
func TestUnusableCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "a.example", tomorrow())
	_, otherKey := pair(t, t.TempDir(), "b.example", tomorrow())
	expired, expiredKey := pair(t, t.TempDir(), "c.example", time.Now().Add(-time.Minute))
	for headline, files := range map[string][2]string{
		"do not match":   {cert, otherKey},
		"cannot be used": {key, cert},
		"no certificate": {filepath.Join(dir, "none"), key},
		expired:          {expired, expiredKey},
	} {
		_, err := LoadCertificates(files[0], files[1], slog.New(slog.DiscardHandler))
		var told *failure.Error
		if !errors.As(err, &told) || !strings.Contains(told.Message, headline) {
			t.Errorf("%v: %v, not %s", files, err, headline)
		}
		nats := NATS{Address: "127.0.0.1:0", Cert: files[0], Key: files[1]}
		if err := nats.Check(false); !errors.As(err, &told) {
			t.Errorf("for NATS clients, %v: %v", files, err)
		}
	}
}

// The certificate for NATS clients is read again too, and /readyz warns of one that cannot be used.
func TestCertificateOfNATSIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "first.example", tomorrow())
	o := NATS{Address: "127.0.0.1:0", Cert: cert, Key: key}
	if err := o.Check(false); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", o.TLS(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(context.Background())
			_ = conn.Close()
		}
	}()
	for _, name := range []string{"first.example", "second.example"} {
		pair(t, dir, name, tomorrow())
		if got := shownBy(t, listener.Addr().String()); got != name || len(o.Warnings()) != 0 {
			t.Errorf("it shows %s, not %s; warnings %v", got, name, o.Warnings())
		}
	}
	replace(t, cert, []byte("garbage"))
	if warned := o.Warnings(); len(warned) != 1 || warned[0].Code != "CERTIFICATE" {
		t.Errorf("it warns of %v", warned)
	}
	t.Chdir(dir) // its warnings are read elsewhere
	here := &Certificates{
		cert:   filepath.Base(cert),
		key:    "key.pem",
		use:    &tls.Certificate{Leaf: &x509.Certificate{}},
		logger: slog.New(slog.DiscardHandler),
	}
	if warned := here.Warnings(); len(warned) != 1 || !strings.Contains(warned[0].Next, "into "+cert) {
		t.Errorf("it warns of %v", warned)
	}
}

// Only TLS 1.2 and later are spoken, and HTTP/1.1 only: one connection, one call.
func TestTLSVersionsAndProtocol(t *testing.T) {
	cert, key := pair(t, t.TempDir(), "a.example", tomorrow())
	c, err := LoadCertificates(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	address := serveTLS(t, c, http.NotFoundHandler(), &service.Limits{})
	if _, err := shakes(address, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("it speaks TLS 1.1")
	}
	state, err := shakes(address, &tls.Config{NextProtos: []string{"h2", "http/1.1"}})
	if err != nil || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("it chooses %q, %v", state.NegotiatedProtocol, err)
	}
	if _, err := shakes(address, &tls.Config{NextProtos: []string{"h2"}}); err == nil {
		t.Error("it speaks HTTP/2")
	}
}

// The limits of connections hold inside of TLS: a long head is refused, a caller knows that it uses TLS, and one that
// sends no handshake, or half of one, is cut off while others are answered.
func TestLimitsHoldWithinTLS(t *testing.T) {
	cert, key := pair(t, t.TempDir(), "a.example", tomorrow())
	c, err := LoadCertificates(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var limits service.Limits
	if err := limits.Set("server-connections=8"); err != nil {
		t.Fatal(err)
	}
	address := serveTLS(t, c, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}), &limits)
	for range 50 { // more than there is room for
		silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = silent.Close() }()
		if _, err := silent.Write([]byte{0x16, 0x03, 0x01}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(head string) string {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // as above
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", head)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // the server may cut a refused head
		return string(answer)
	}
	if answer := ask(""); !strings.HasSuffix(answer, "here") {
		t.Errorf("it answers %q", answer)
	}
	if answer := ask(strings.Repeat("A: b\r\n", 200)); !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("a head of 200 lines: %q", answer)
	}
}
