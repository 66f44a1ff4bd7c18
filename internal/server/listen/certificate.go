package listen

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/service/wire"
)

// Certificates are a server's certificate and key. They are read again when their files change, at the next handshake:
// a pair that does not fit keeps the old one in use, and is reported. Safe for concurrent use.
type Certificates struct {
	cert, key string
	logger    *slog.Logger
	// changed is called with the fingerprint of a new certificate; nil if nobody asks.
	changed func(fingerprint string)

	mu      sync.Mutex
	use     *tls.Certificate
	seen    [2]stamp
	problem string
}

// stamp is the state of a file.
type stamp struct {
	size int64
	at   time.Time
	info fs.FileInfo
}

// LoadCertificates reads a certificate with its chain, and its key, both in PEM.
func LoadCertificates(cert, key string, logger *slog.Logger) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, logger: logger}
	c.seen, _ = c.look()
	if err := c.load(); err != nil {
		return nil, &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "CERTIFICATE",
			Message: headline(cert, key),
			Why:     err.Error(),
			Next:    "name a PEM file with the certificate and its chain with --tls-cert, and its key with --tls-key",
		}
	}
	return c, nil
}

// headline says what is wrong with files that are no certificate and key.
func headline(cert, key string) string {
	chain, err := contentOf(cert)
	secret, failed := contentOf(key)
	if err != nil || failed != nil {
		return "The server has no certificate"
	}
	if isCertificate(chain) && isKey(secret) {
		return "The certificate and the key do not match: " + cert + " and " + key
	}
	return "The certificate in " + cert + " and the key in " + key + " cannot be used"
}

// maxPEM is how much of a file is looked at, in bytes.
const maxPEM = 1 << 20

func contentOf(path string) ([]byte, error) {
	f, err := files.OpenNamed(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxPEM))
	return content, errors.Join(err, f.Close())
}

func isCertificate(content []byte) bool {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			found, err := x509.ParseCertificate(block.Bytes)
			return err == nil && time.Now().Before(found.NotAfter)
		}
	}
	return false
}

func isKey(content []byte) bool {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		_, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		_, older := x509.ParsePKCS1PrivateKey(block.Bytes)
		_, curve := x509.ParseECPrivateKey(block.Bytes)
		if err == nil || older == nil || curve == nil {
			return true
		}
	}
	return false
}

// OnChange calls told with the fingerprint of each later certificate. It must be called before the server listens.
func (c *Certificates) OnChange(told func(fingerprint string)) { c.changed = told }

// look returns the state of the files.
func (c *Certificates) look() (seen [2]stamp, err error) {
	for i, path := range []string{c.cert, c.key} {
		info, failed := os.Stat(path)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		seen[i] = stamp{info.Size(), info.ModTime(), info}
	}
	return seen, err
}

func (s stamp) same(other stamp) bool {
	return s.size == other.size && s.at.Equal(other.at) &&
		(s.info == nil) == (other.info == nil) && (s.info == nil || os.SameFile(s.info, other.info))
}

// load reads the files. The caller holds mu, or is the only user.
func (c *Certificates) load() error {
	chain, err := contentOf(c.cert) // a pipe in the place of a file must not hold up the handshakes
	if err != nil {
		return err
	}
	key, err := contentOf(c.key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return err
	}
	if now := time.Now(); pair.Leaf != nil && now.After(pair.Leaf.NotAfter) {
		return errors.New("the certificate in " + c.cert + " expired at " +
			pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	c.use = &pair
	return nil
}

// get returns the certificate for a handshake, after it has looked whether the files changed.
func (c *Certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, err := c.look()
	if err == nil && seen[0].same(c.seen[0]) && seen[1].same(c.seen[1]) {
		return c.use, nil
	}
	before := c.problem
	if err == nil {
		err = c.load()
	}
	if err != nil {
		if c.problem = err.Error(); c.problem != before {
			c.logger.Error("the new certificate cannot be used; the old one stays in use", "why", err,
				"certificate", c.cert, "key", c.key,
				"next", "put a certificate and the key that belongs to it into these files; they are read again")
		}
		return c.use, nil
	}
	c.seen, c.problem = seen, ""
	c.logger.Info("the certificate was read again", "fingerprint", fingerprint(c.use))
	if c.changed != nil {
		c.changed(fingerprint(c.use))
	}
	return c.use, nil
}

// Fingerprint returns the SHA-256 of the certificate in use, in hexadecimal.
func (c *Certificates) Fingerprint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fingerprint(c.use)
}

func fingerprint(of *tls.Certificate) string {
	sum := sha256.Sum256(of.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// Warnings returns what an operator should know: the files cannot be used, or the certificate has expired.
func (c *Certificates) Warnings() []wire.Warning {
	if c == nil {
		return nil
	}
	_, _ = c.get(nil) // nobody may have connected since the files changed
	c.mu.Lock()
	defer c.mu.Unlock()
	problem := c.problem
	if leaf := c.use.Leaf; leaf != nil && problem == "" && time.Now().After(leaf.NotAfter) {
		problem = "it expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	}
	if problem == "" {
		return nil
	}
	return []wire.Warning{{
		Code:    "CERTIFICATE",
		Message: "The TLS certificate: " + problem,
		Next: "put a certificate and its key into " + absolute(c.cert) + " and " + absolute(c.key) +
			"; they are read at the next connection",
	}}
}

// absolute returns a path that does not depend on the server's working directory: others read it.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// Secure returns a listener whose connections use TLS 1.2 or later. They speak HTTP/1.1 only, because the limits for
// connections count one call on each.
func (c *Certificates) Secure(listener net.Listener) net.Listener {
	if c == nil {
		return listener
	}
	return tls.NewListener(listener, &tls.Config{
		GetCertificate: c.get,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
	})
}

// Scheme returns the scheme of the server's URL.
func (c *Certificates) Scheme() string {
	if c == nil {
		return "http"
	}
	return "https"
}
