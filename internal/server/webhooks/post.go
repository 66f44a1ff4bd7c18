package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"maestro/internal/safetext"
)

const (
	// connectWithin bounds a connection, and answerWithin the whole request, also of a test.
	connectWithin = 10 * time.Second
	answerWithin  = 20 * time.Second
	// bodyRead and bodyWithin bound what is read of an answer's body, which is discarded: with its end, the connection
	// can be used again.
	bodyRead   = 16 << 10
	bodyWithin = time.Second
	// headerMost bounds the header of an answer.
	headerMost = 16 << 10
)

// message is what is sent: an event, or a test.
type message struct {
	// id is the same each time the message is sent.
	id   string
	body []byte
}

// outcome is how a request ended. problem is "" if the receiver accepted the message.
type outcome struct {
	status  int
	problem string
	// retryAfter is how long the receiver wants to be left alone; 0 if it does not say.
	retryAfter time.Duration
	took       time.Duration
}

// poster sends messages.
type poster struct {
	secure, plain *http.Client
	agent         string
}

func newPoster(networks allowed, version string) *poster {
	client := func(secure bool) *http.Client {
		dialer := &net.Dialer{Timeout: connectWithin, Control: networks.control(secure)}
		return &http.Client{
			Transport: &http.Transport{
				Proxy:                  nil, // a proxy would connect to addresses that nobody checked
				DialContext:            dialer.DialContext,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    connectWithin,
				MaxResponseHeaderBytes: headerMost,
				MaxIdleConnsPerHost:    inFlightMost,
				IdleConnTimeout:        time.Minute,
				DisableCompression:     true,
				ForceAttemptHTTP2:      true,
			},
			// A redirect is an answer like any other: a receiver that moved is told to its owner, not followed.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &poster{secure: client(true), plain: client(false), agent: "Maestro/" + version}
}

// close closes the connections that are not in use.
func (p *poster) close() {
	p.secure.CloseIdleConnections()
	p.plain.CloseIdleConnections()
}

// post sends a message once.
func (p *poster) post(ctx context.Context, url string, secret []byte, m message) outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.body))
	if err != nil {
		return outcome{problem: "the URL cannot be used"}
	}
	timestamp := strconv.FormatInt(began.Unix(), 10)
	req.Header = http.Header{
		"Content-Type":      {"application/cloudevents+json"},
		"User-Agent":        {p.agent},
		"Webhook-Id":        {m.id},
		"Webhook-Timestamp": {timestamp},
		"Webhook-Signature": {"v1," + sign(secret, m.id, timestamp, m.body)},
	}
	client := p.secure
	if req.URL.Scheme == "http" {
		client = p.plain
	}
	answer, err := client.Do(req)
	if err != nil {
		return outcome{problem: problemOf(ctx, err), took: time.Since(began)}
	}
	defer func() { _ = answer.Body.Close() }()
	out := outcome{status: answer.StatusCode, took: time.Since(began)}
	defer time.AfterFunc(bodyWithin, cancel).Stop()
	_, _ = io.CopyN(io.Discard, answer.Body, bodyRead)
	switch {
	case out.status >= 200 && out.status < 300:
		return out
	case out.status >= 300 && out.status < 400:
		out.problem = fmt.Sprintf("it answered %d, and redirects are not followed", out.status)
	default:
		out.problem = fmt.Sprintf("it answered %d", out.status)
	}
	out.retryAfter = retryAfter(answer.Header.Get("Retry-After"), began)
	return out
}

// sign returns the signature of Standard Webhooks: base64 of HMAC-SHA-256 of "<id>.<timestamp>.<body>".
func sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, id+"."+timestamp+".")
	_, _ = mac.Write(body) // a hash never fails to write
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// retryAfterMost bounds how long a receiver may ask to be left alone.
const retryAfterMost = time.Hour

// retryAfter parses a Retry-After header: seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second //nolint:gosec // it has 32 bits
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), retryAfterMost)
}

// problemOf says in words why there was no answer. It repeats nothing that the receiver wrote, except the names in its
// certificate.
func problemOf(ctx context.Context, err error) string {
	var address *AddressError
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &address):
		return address.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return "its name does not exist"
	case errors.As(err, &dns):
		return "its name cannot be looked up"
	case errors.As(err, &verify):
		return "its TLS certificate is not valid: " + certificateProblem(verify.Err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "it did not answer within " + answerWithin.String()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "its answer is not HTTP"
	}
	return "the connection failed before it answered"
}

func certificateProblem(err error) string {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "it is for another name"
	case errors.As(err, &authority):
		return "no known authority signed it"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or is not valid yet"
	}
	return safetext.Clip(safetext.OneLine(err.Error()), 100)
}
