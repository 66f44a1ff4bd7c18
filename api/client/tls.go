package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
)

// WithRoots makes the Client trust the certificates that these authorities signed, in place of the system's.
func WithRoots(roots *x509.CertPool) Option { return func(c *Client) { c.roots = roots } }

// WithPinned makes the Client trust one certificate by its SHA-256, in hexadecimal, whatever name and signer it has.
// pinned is asked at each new connection with the server's address; "" leaves the check to the authorities.
func WithPinned(pinned func(base string) string) Option { return func(c *Client) { c.pinned = pinned } }

var (
	// ErrAnotherCertificate says that the server at the address of the home's server is another one.
	ErrAnotherCertificate = errors.New("the server's certificate is not the one that the home's server.json names")
	// ErrSpeaksTLS says that the server at an http:// address speaks TLS only.
	ErrSpeaksTLS = errors.New("the server speaks TLS, and the address begins with http://")
)

// tlsConfig returns how a connection to a host is secured; "" leaves the host to the transport.
func (c *Client) tlsConfig(host string) *tls.Config {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: c.roots}
	if c.pinned == nil {
		return config
	}
	if c.pinned(c.Base()) == "" {
		return config
	}
	config.InsecureSkipVerify = true //nolint:gosec // VerifyConnection compares the certificate itself
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			// Asked again: the server may have read another certificate for this very connection.
			if hex.EncodeToString(sum[:]) == c.pinned(c.Base()) {
				return nil
			}
		}
		return ErrAnotherCertificate
	}
	return config
}
