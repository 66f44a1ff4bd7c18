//go:build unix

package listen

import (
	"crypto/tls"
	"log/slog"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe in the place of the certificate holds up no handshake: the old certificate stays in use, and /readyz warns.
func TestCertificateThatIsAPipe(t *testing.T) {
	cert, key := pair(t, t.TempDir(), "a.example", tomorrow())
	c, err := LoadCertificates(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(cert, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.get(&tls.ClientHelloInfo{}); err != nil || got.Leaf.Subject.CommonName != "a.example" {
		t.Errorf("%v %v", got, err)
	}
	if warned := c.Warnings(); len(warned) != 1 {
		t.Errorf("it warns of %v", warned)
	}
}
