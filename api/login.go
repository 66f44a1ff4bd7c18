package api

import (
	"context"
	_ "embed"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"maestro/service"
	"maestro/service/wire"
)

// A browser logs in with a code that `maestro open` gets for it, and is then known by a cookie. Decision 0103.

//go:embed pages/login.html
var loginPage string

//go:embed pages/login.js
var loginScript []byte

//go:embed pages/home.html
var homePage string

// maxLoginForm is the longest form of a login, in bytes.
const maxLoginForm = 8 << 10

func (s *server) loginRoutes() {
	answers(s, "POST /api/login-codes", "A single-use code with which a browser logs in as the caller", s.loginCode)
	answers(s, "GET /api/logins", "The browsers that have logged in", s.logins)
	answers(s, "DELETE /api/logins/{id}", "End the login of a browser", s.endLogin)
	s.handle("GET /{$}", "Who is logged in", s.home)
	s.handle("GET /login", "The page on which a browser logs in", asset(loginWith(""), "text/html; charset=utf-8"))
	s.handle("GET /login.js", "Its script", asset(loginScript, "text/javascript; charset=utf-8"))
	s.handle("POST /login", "Exchange a code for the cookie of a login", s.login)
	s.handle("POST /logout", "End the login of the cookie", s.logout)
}

func (s *server) loginCode(r *http.Request) (wire.LoginCode, error) {
	return s.CreateLoginCode(r.Context(), callOf(r.Context()).Caller)
}

func (s *server) logins(r *http.Request) ([]wire.Login, error) {
	return s.ListLogins(r.Context(), callOf(r.Context()).Caller)
}

func (s *server) endLogin(r *http.Request) (wire.EndedLogin, error) {
	return s.EndLogin(r.Context(), callOf(r.Context()).Caller, r.PathValue("id"))
}

// asset serves a file of this package.
func asset(content []byte, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Security-Policy"] = pagePolicy
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content) // a client that is gone gets nothing
	}
}

// home says who is logged in.
func (s *server) home(w http.ResponseWriter, r *http.Request) {
	c, _, err := s.loggedIn(r)
	if err != nil {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	w.Header()["Content-Security-Policy"] = pagePolicy
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	page := strings.ReplaceAll(homePage, "{{.}}", html.EscapeString(c.By.Name))
	_, _ = io.WriteString(w, page) // a client that is gone gets nothing
}

// login exchanges a code for a cookie. Only the login page may send it.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	form, err := loginForm(r)
	if err == nil {
		err = ownPage(r)
	}
	if err != nil {
		s.refuseNobody(w, r, err)
		return
	}
	secret, until, err := s.Login(r.Context(), strings.TrimSpace(form.Get("code")), r.RemoteAddr)
	if err != nil {
		s.NoteUnauthenticated()
		if !acceptsPages(r) {
			s.refuseNobody(w, r, err)
			return
		}
		s.askAgain(w, r, s.delayNobody(w, r, err))
		return
	}
	http.SetCookie(w, s.cookie(r, secret, until))
	w.Header()["Content-Security-Policy"] = pagePolicy
	http.Redirect(w, r, ownPath(form.Get("path")), http.StatusSeeOther)
}

// loginWith returns the page of the login, with what was wrong with the code before.
func loginWith(wrong string) []byte {
	if wrong != "" {
		wrong = "<p role=\"alert\"><strong>" + html.EscapeString(wrong) + "</strong></p>\n"
	}
	return []byte(strings.Replace(loginPage, "{{.}}", wrong, 1))
}

// acceptsPages reports whether a person reads the answer in a browser.
func acceptsPages(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// askAgain shows the form again, with why the login was refused.
func (s *server) askAgain(w http.ResponseWriter, r *http.Request, refused error) {
	p := overHTTP(s.ProblemOf(nil, refused, nameOf(r)))
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	w.Header()["Content-Security-Policy"] = pagePolicy
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.status)
	next := strings.ReplaceAll(p.Next, "`", "") // a page has no use for the marks of a command line
	begin := min(1, len(next))
	s.write(w, loginWith(p.Message+": "+p.Why+". "+strings.ToUpper(next[:begin])+next[begin:]+"."))
}

// loginForm reads the form of a login.
func loginForm(r *http.Request) (url.Values, error) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/x-www-form-urlencoded" {
		return nil, &service.Problem{
			Kind:    service.KindWrongFormat,
			Code:    "UNSUPPORTED_MEDIA_TYPE",
			Message: "A login is a form",
			Why:     "its Content-Type is not application/x-www-form-urlencoded",
			Next:    "open the page at /login in a browser",
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLoginForm+1))
	if err == nil && len(body) > maxLoginForm {
		err = errors.New("the form is too long")
	}
	var form url.Values
	if err == nil {
		form, err = url.ParseQuery(string(body))
	}
	if err != nil {
		return nil, service.InvalidRequest("", "the form of a login cannot be read")
	}
	return form, nil
}

// ownPath returns a path of this server; "/" for anything that leads elsewhere.
func ownPath(path string) string {
	parsed, err := url.Parse(path)
	if err != nil || parsed.IsAbs() || parsed.Host != "" || !strings.HasPrefix(path, "/") ||
		!isClean(parsed.EscapedPath()) || strings.ContainsAny(path, "\\\r\n") {
		return "/"
	}
	return path
}

// logout ends the login of the cookie, if there is one.
func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	if err := ownPage(r); err != nil {
		s.refuseNobody(w, r, err)
		return
	}
	if secret, ok := s.secretOf(r); ok {
		s.Logout(secret)
	}
	gone := s.cookie(r, "", time.Time{})
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// cookie returns the cookie of a login. With TLS its name has a prefix that a browser ties to this host and to TLS.
func (s *server) cookie(r *http.Request, secret string, until time.Time) *http.Cookie {
	return &http.Cookie{
		Name:     s.cookieName(r),
		Value:    secret,
		Path:     "/",
		Expires:  until,
		HttpOnly: true,
		Secure:   r.TLS != nil,
		SameSite: http.SameSiteStrictMode,
	}
}

func (s *server) cookieName(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-" + s.cookieBase
	}
	return s.cookieBase
}

// secretOf returns the secret in the cookie of a request, false if there is none, or more than one.
func (s *server) secretOf(r *http.Request) (string, bool) {
	if len(r.Header["Cookie"]) == 0 {
		return "", false
	}
	cookies := r.CookiesNamed(s.cookieName(r))
	if len(cookies) != 1 || cookies[0].Value == "" {
		return "", false
	}
	return cookies[0].Value, true
}

// loggedIn returns who the cookie of a request identifies, and a context that ends with the login. A cookie identifies
// nobody on a request that a page of another origin makes the browser send, even if --allow-origin names it: such pages
// send a token. A write has to name its origin.
func (s *server) loggedIn(r *http.Request) (*service.Caller, context.Context, error) {
	secret, ok := s.secretOf(r)
	if !ok {
		return nil, nil, service.NotAuthenticated("A token is required",
			"the request has no Authorization header, and no cookie of a login", false)
	}
	if err := ownPage(r); err != nil {
		return nil, nil, err
	}
	return s.AuthenticateLogin(secret, r.RemoteAddr)
}

// ownPage refuses a request that a browser sends for a page of another origin, and a write for which the browser does
// not say whose page it is. A read without an origin is a navigation, or comes from a program.
func ownPage(r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	own := false
	if parsed, err := url.Parse(origin); origin != "" && err == nil {
		own = parsed.Scheme == schemeOf(r) && strings.EqualFold(parsed.Host, r.Host)
	}
	switch {
	case origin != "" && !own, site != "" && site != "same-origin" && (!reads || site != "none"):
		return crossOrigin("its Origin and Sec-Fetch-Site name another page")
	case !reads && !own && site != "same-origin":
		return crossOrigin("it has neither an Origin nor Sec-Fetch-Site")
	}
	return nil
}

func crossOrigin(why string) error {
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    wire.CodeOrigin,
		Message: "A login is valid for this server's own pages only",
		Why:     why,
		Next:    "use a token: `Authorization: Bearer <token>`",
	}
}

// untilLogout returns the request with a context that ends with the login. The caller must call done.
func untilLogout(r *http.Request, ended context.Context) (_ *http.Request, done func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(ended, func() { cancel(context.Cause(ended)) })
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
	}
}
