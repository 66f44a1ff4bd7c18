package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// renew puts a new self-signed certificate for a name in the place of any earlier one.
func renew(t *testing.T, dir, name string, addresses ...net.IP) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		IPAddresses:           addresses,
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	body, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: body},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		path := filepath.Join(dir, file)
		err := errors.Join(os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600), os.Rename(path+".new", path))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// told waits for a server to say where it listens.
type told struct {
	bytes.Buffer
	listens chan string
}

func (o *told) Write(b []byte) (int, error) {
	if _, rest, ok := strings.Cut(string(b), "listening on "); ok {
		address, _, _ := strings.Cut(rest, " ")
		o.listens <- address
	}
	return len(b), nil
}

// A server with a certificate is reached by the programs of its home whatever name the certificate has, also after it
// was renewed; by others, if they trust who signed it and the name fits.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	renew(t, dir, "first.example")
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &told{listens: make(chan string, 1)}, make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{
			"serve", "--no-runner", "--listen", "127.0.0.1:0", "--backup-every", "off", "--tls-cert",
			filepath.Join(dir, "cert.pem"),
			"--tls-key", filepath.Join(dir, "key.pem"),
		}, []string{"HOME=" + dir, "MAESTRO_HOME=" + home}, strings.NewReader(""), out, os.Stderr)
	}()
	defer func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the server ends with %d", code)
		}
	}()
	address := <-out.listens
	if !strings.HasPrefix(address, "https://127.0.0.1:") {
		t.Fatalf("it listens on %s", address)
	}
	ours := map[string]string{"MAESTRO_HOME": home}
	good := func(what string, env map[string]string) {
		t.Helper()
		if r := runHere(t, env, "whoami"); r.code != 0 || !strings.Contains(r.stdout, "user admin") {
			t.Errorf("%s: %d %s%s", what, r.code, r.stdout, r.stderr)
		}
	}
	good("a program of the home", ours)
	token, err := os.ReadFile(filepath.Join(home, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	away := func() map[string]string {
		return map[string]string{
			"MAESTRO_API_URL": address,
			"MAESTRO_TOKEN":   strings.TrimSpace(string(token)),
			"MAESTRO_HOME":    filepath.Join(dir, "none"),
		}
	}
	refused := func(what string, env map[string]string, code int, hint string) {
		t.Helper()
		if r := runHere(t, env, "whoami"); r.code != code || !strings.Contains(r.stderr, hint) {
			t.Errorf("%s: %d %s%s", what, r.code, r.stdout, r.stderr)
		}
	}
	refused("a program that does not know who signed it", away(), 3, "a name or an address of the server")
	plain := away()
	plain["MAESTRO_API_URL"] = "http" + strings.TrimPrefix(address, "https")
	refused("a program that speaks no TLS", plain, 3, "use "+address)
	trusting := away()
	trusting["MAESTRO_CA"] = filepath.Join(dir, "cert.pem")
	refused("a program that calls it by another name", trusting, 3, "an address of the server that its certificate has")

	renew(t, dir, "second.example", net.IPv4(127, 0, 0, 1))
	good("a program of the home, after the certificate was renewed", ours)
	// The server looks after the files of its home. It makes a missing directory again as the last thing it does.
	snapshots := filepath.Join(home, "snapshots")
	if err := os.RemoveAll(snapshots); err != nil {
		t.Fatal(err)
	}
	for _, err := os.Lstat(snapshots); errors.Is(err, os.ErrNotExist); _, err = os.Lstat(snapshots) {
		good("a program of the home, while the server looks after its files", ours)
	}
	good("a program of the home, after the server has looked after its files", ours)
	good("a program that trusts the new one", trusting)
	refused("a program that does not know who signed the new one", away(), 3, "set MAESTRO_CA")
	if r := runHere(t, away(), "doctor"); r.code != 1 || !strings.Contains(r.stdout, "[server-insecure]") ||
		!strings.Contains(r.stdout, "set MAESTRO_CA") || strings.Contains(r.stdout, "home-missing") {
		t.Errorf("doctor says of a server that it does not trust: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := runHere(t, away(), "watch"); r.code != 3 || !strings.HasPrefix(r.stderr, "maestro: No secure connection") {
		t.Errorf("watch says of a server that it does not trust: %d %s%s", r.code, r.stdout, r.stderr)
	}
	trusting["MAESTRO_CA"] = filepath.Join(dir, "key.pem")
	refused("a file without certificates", trusting, 5, "no certificate in PEM")

	// Another server at the same address is not the home's.
	server, err := os.ReadFile(filepath.Join(home, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(server, []byte(`"certificate":"`)) + len(`"certificate":"`)
	server[at] ^= 1
	if err := os.WriteFile(filepath.Join(home, "server.json"), server, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("another certificate than the one that the home names", ours, 3, "restart the home's server")
}
