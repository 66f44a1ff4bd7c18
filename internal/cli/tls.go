package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/service/wire"
)

// tlsNext says what to do about a connection that failed because of TLS; "" if it failed for another reason.
func tlsNext(failed *client.ConnectionError) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	switch {
	case errors.Is(failed.Err, client.ErrSpeaksTLS):
		return "use https://" + strings.TrimPrefix(failed.URL, "http://") + ": set MAESTRO_API_URL to it"
	case errors.Is(failed.Err, client.ErrAnotherCertificate):
		return "another program may listen there: look at what it is, and restart the home's server"
	case errors.As(failed.Err, &plain):
		return "use http://" + strings.TrimPrefix(failed.URL, "https://") + ": set MAESTRO_API_URL to it"
	case errors.As(failed.Err, &unknown):
		return "set MAESTRO_CA to a PEM file with the certificate that signed the server's, or with the server's own"
	case errors.As(failed.Err, &name):
		return "use a name or an address of the server that its certificate has"
	case errors.As(failed.Err, &invalid):
		return "renew the server's certificate, and check this machine's clock"
	}
	return ""
}

// whyInsecure explains why a connection that is to be secure failed.
func whyInsecure(err error) string {
	if errors.As(err, new(tls.RecordHeaderError)) {
		return "the server does not speak TLS, and the address begins with https://"
	}
	return err.Error()
}

// IsInsecure reports whether something answers at the server's address, and no secure connection to it can be made.
func IsInsecure(err error) bool {
	var unreachable *client.ConnectionError
	return errors.As(err, &unreachable) && tlsNext(unreachable) != ""
}

// withRoots makes a client trust the certificates that MAESTRO_CA names.
func (a *Run) withRoots() (client.Option, error) {
	roots, err := a.roots()
	return client.WithRoots(roots), err
}

// clientOf returns a client for the same server that acts with another token.
func (a *Run) clientOf(server *client.Client, token string) (*client.Client, error) {
	roots, err := a.withRoots()
	if err != nil {
		return nil, err
	}
	return client.New(server.Base(), token, client.WithVersion(Version()), client.WithTimeout(patience),
		client.WithIdentification(), client.WithPinned(a.homeCertificate), roots), nil
}

// roots returns the certificates that MAESTRO_CA names, nil if it is not set.
func (a *Run) roots() (*x509.CertPool, error) {
	path := a.Getenv(wire.EnvCA)
	if path == "" {
		return nil, nil //nolint:nilnil // the system's certificates are a nil pool, too
	}
	content, err := readCertificates(path)
	roots := x509.NewCertPool()
	if err == nil && !roots.AppendCertsFromPEM(content) {
		err = errors.New("it holds no certificate in PEM")
	}
	if err != nil {
		return nil, failure.Usage("MAESTRO_CA names no certificates: %s", path).WithWhy("%s", err).
			WithNext("set it to a PEM file with the certificate that signed the server's, or with the server's own")
	}
	return roots, nil
}

// maxCertificates is the longest file of certificates, in bytes: about three times that of a system.
const maxCertificates = 1 << 20

func readCertificates(path string) ([]byte, error) {
	f, err := files.OpenNamed(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxCertificates))
}

// homeCertificate returns the fingerprint of the certificate of the home's server, "" if the address is another one's.
func (a *Run) homeCertificate(base string) string {
	h := a.openHome()
	if h == nil {
		return ""
	}
	defer func() { _ = h.Close() }()
	return h.CertificateAt(base)
}
