package listen

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"maestro/internal/failure"
	"maestro/service/wire"
)

// NATS configures the listener for NATS clients; there is none without an address.
type NATS struct {
	// Address is HOST:PORT; "" for no listener.
	Address string
	// Cert and Key are the files of a certificate, and of its key, in PEM form; "" without TLS.
	Cert, Key string

	// certificates are what Check loaded; nil without TLS.
	certificates *Certificates
}

// Check refuses impossible options, and those that would show tokens and events to others.
func (o *NATS) Check(readOnly bool) error {
	if o.Address == "" {
		if o.Cert != "" || o.Key != "" {
			return failure.Usage("--nats-tls-cert and --nats-tls-key need --nats-listen").
				WithWhy("they are for the NATS clients that connect there")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil:
		return failure.Usage("--nats-listen must be HOST:PORT, such as 127.0.0.1:4222, not %q", o.Address).
			WithNext("write an address and a port from 0 to 65535; port 0 picks a free one")
	case readOnly:
		return failure.Usage("--nats-listen cannot be used with --read-only").
			WithWhy("a read-only server announces nothing: nothing new happens").
			WithNext("leave out --nats-listen")
	case (o.Cert == "") != (o.Key == ""):
		return failure.Usage("--nats-tls-cert and --nats-tls-key belong together").
			WithNext("give both files, or neither on loopback")
	case o.Cert == "" && !IsLoopback(host):
		return failure.Usage("--nats-listen %s is not on loopback, and there is no certificate", o.Address).
			WithWhy("without TLS, tokens and events could be overheard; --insecure-bind does not change that").
			WithNext("add --nats-tls-cert FILE and --nats-tls-key FILE, or listen on loopback")
	case o.Cert == "":
		return nil
	}
	o.certificates, err = LoadCertificates(o.Cert, o.Key, slog.New(slog.DiscardHandler))
	if err != nil {
		why := err.Error()
		if told := (*failure.Error)(nil); errors.As(err, &told) {
			why = told.Message + ": " + told.Why
		}
		return &failure.Error{
			Status:  http.StatusUnprocessableEntity,
			Code:    failure.File,
			Message: "The certificate for NATS clients cannot be used",
			Why:     why,
			Next:    "name a certificate and its key, both in PEM form, with --nats-tls-cert and --nats-tls-key",
		}
	}
	return nil
}

// TLS returns how connections are secured with what Check loaded; nil for plain TCP. A certificate whose files change
// is read again, as that of the server.
func (o *NATS) TLS(logger *slog.Logger) *tls.Config {
	if o.certificates == nil {
		return nil
	}
	o.certificates.logger = logger
	return &tls.Config{GetCertificate: o.certificates.get, MinVersion: tls.VersionTLS12}
}

// Warnings are those of the certificate.
func (o *NATS) Warnings() []wire.Warning { return o.certificates.Warnings() }

// Taken returns the error that the address cannot be listened on.
func (o *NATS) Taken(err error) error {
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "LISTEN",
		Message: "The server cannot listen for NATS clients on " + o.Address,
		Err:     err,
		Next:    "stop what listens there, or choose another address with --nats-listen; port 0 picks a free one",
	}
}
