package api

import "net/http"

// Headers that tell a browser what it may do with an answer, allocated once.
var (
	noFrames = []string{"DENY"}
	// Without a referrer, a browser would not name the origin of the form of a login either.
	ownReferrer = []string{"same-origin"}
	sameOrigin  = []string{"same-origin"}
	crossReads  = []string{"cross-origin"}
	noFeatures  = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
	strictHTTPS = []string{"max-age=31536000"}
	// dataPolicy is for answers that are data: a browser runs and loads nothing for them.
	dataPolicy = []string{"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}
	// pagePolicy is for the pages of this package: their script and their style are files.
	pagePolicy = []string{
		"default-src 'none'; script-src 'self'; style-src 'self'; " +
			"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	}
)

// protect sets the headers that every answer has.
func (s *server) protect(header http.Header, r *http.Request) {
	header["Cache-Control"] = s.noStore
	header["X-Content-Type-Options"] = s.noSniff
	header["X-Frame-Options"] = noFrames
	header["Referrer-Policy"] = ownReferrer
	header["Content-Security-Policy"] = dataPolicy
	header["Cross-Origin-Opener-Policy"] = sameOrigin
	header["Cross-Origin-Resource-Policy"] = sameOrigin
	header["Permissions-Policy"] = noFeatures
	if r.TLS != nil && !isLoopback(hostOf(r.Host)) { // a browser would also refuse other servers of this machine
		header["Strict-Transport-Security"] = strictHTTPS
	}
}
