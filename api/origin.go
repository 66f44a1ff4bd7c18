package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// A page in a browser must not reach a server on the same machine by a name of its own (DNS rebinding), nor from an
// origin that nobody allowed: Host and Origin are checked on every request.

// checkOrigin refuses an unknown Host or Origin, and lets allowed origins read the answer.
func (s *server) checkOrigin(header http.Header, r *http.Request) *service.Problem {
	if !s.knownHost(r.Host) {
		return &service.Problem{
			Kind:    service.KindNotAllowed,
			Code:    "HOST_NOT_ALLOWED",
			Message: "This server is not called '" + safetext.Printable(r.Host) + "'",
			Why:     "the Host header names neither this machine's loopback nor a name that the server was given",
			Next:    "call it by the address that it listens on, or start the server with --allow-host and that name",
		}
	}
	for _, name := range []string{"Origin", "Sec-Fetch-Site"} {
		if len(r.Header[name]) > 1 {
			return &service.Problem{
				Kind:    service.KindNotAllowed,
				Code:    wire.CodeOrigin,
				Message: "The request has more than one " + name + " header",
				Why:     "it must say one origin only",
				Next:    "send the header once",
			}
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return s.checkSite(r)
	}
	if s.origins[strings.ToLower(origin)] {
		header.Set("Access-Control-Allow-Origin", origin)
		header["Cross-Origin-Resource-Policy"] = crossReads
		header.Set("Access-Control-Expose-Headers", strings.Join([]string{
			wire.HeaderSequence, wire.HeaderUntil, wire.HeaderRetried, wire.HeaderNext, wire.HeaderMail,
			wire.HeaderDamage, "Retry-After",
		}, ", "))
		header.Add("Vary", "Origin")
		return nil
	}
	if parsed, err := url.Parse(origin); err == nil && strings.EqualFold(parsed.Host, r.Host) &&
		parsed.Scheme == schemeOf(r) {
		return s.checkSite(r)
	}
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    wire.CodeOrigin,
		Message: "Pages of '" + safetext.Printable(origin) + "' may not call this server",
		Why:     "the Origin header names neither the server itself nor an origin that was allowed",
		Next:    "start the server with --allow-origin",
	}
}

// checkSite refuses, where callers need no credential, requests that a page of another site makes a browser send. A
// request for an image or a link has no Origin; browsers name its source in Sec-Fetch-Site. Another port of this
// machine counts as another site.
func (s *server) checkSite(r *http.Request) *service.Problem {
	site := r.Header.Get("Sec-Fetch-Site")
	if !s.AuthOff || site == "" || site == "same-origin" || site == "none" {
		return nil
	}
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    "SITE_NOT_ALLOWED",
		Message: "Pages of other sites may not call this server",
		Why:     "it runs with --auth off, and Sec-Fetch-Site is '" + safetext.Printable(site) + "'",
		Next:    "call it from its own page or from a program; for another page, start the server with --allow-origin",
	}
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// knownHost accepts loopback names and addresses, and the configured names.
func (s *server) knownHost(hostport string) bool {
	host := hostOf(hostport)
	if isLoopback(host) {
		return true
	}
	return host != "" && (s.hosts[strings.ToLower(host)] || s.hosts[strings.ToLower(hostport)])
}

// hostOf returns a host without its port.
func hostOf(hostport string) string {
	host := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// options answers what a path takes, and a browser's question whether a page of an allowed origin may call. It needs no
// credential, because browsers send none with that question; what is answered is no secret.
func (s *server) options(header http.Header, r *http.Request) {
	if allowed := s.methods(r); len(allowed) > 0 {
		header.Set("Allow", strings.Join(allowed, ", "))
	}
	if header.Get("Access-Control-Allow-Origin") == "" {
		return
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Idempotency-Key, Maestro-Client, Maestro-Occurred-At, Traceparent, Last-Event-ID")
	header.Set("Access-Control-Max-Age", "600")
}
