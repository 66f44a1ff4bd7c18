package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/engine"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// browser is a page of the server itself: it sends the cookie of its login, and says what page it is.
type browser struct {
	w      *world
	cookie *http.Cookie
}

// code returns a code for a login with a token.
func (w *world) code(token string) string {
	w.Helper()
	return w.send(http.MethodPost, "/api/login-codes", token, "").is(200).text("code")
}

// exchange sends the form of a login.
func (w *world) exchange(code, path string, header ...string) reply {
	w.Helper()
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	form := url.Values{"code": {code}, "path": {path}}.Encode()
	return w.send(http.MethodPost, "/login", "", form,
		append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", w.url}, header...)...)
}

func (r reply) cookie() *http.Cookie {
	r.Helper()
	set := (&http.Response{Header: r.header}).Cookies()
	if len(set) != 1 {
		r.Fatalf("it sets the cookies %v: %d %s", set, r.status, r.body)
	}
	return set[0]
}

func (w *world) logIn(token string) browser {
	w.Helper()
	return browser{w, w.exchange(w.code(token), "/").is(http.StatusSeeOther).cookie()}
}

// sends makes a request of the page, with other headers in place of its own.
func (b browser) sends(method, path, body string, header ...string) reply {
	b.w.Helper()
	return b.w.send(method, path, "", body, append([]string{
		"Cookie", b.cookie.Name + "=" + b.cookie.Value, "Origin", b.w.url, "Sec-Fetch-Site", "same-origin",
	}, header...)...)
}

// A browser that logs in with a code acts as the user, through a cookie that scripts and other sites do not get.
func TestLogin(t *testing.T) {
	said := &logOf{}
	w := open(t, func(c *setup) {
		c.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	code := w.code(adminToken)
	answer := w.exchange(code, "/tasks?x=1").is(http.StatusSeeOther)
	cookie := answer.cookie()
	if answer.header.Get("Location") != "/tasks?x=1" || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteStrictMode ||
		cookie.Path != "/" || cookie.Domain != "" || cookie.Secure || strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("it leads to %s with the cookie %s", answer.header.Get("Location"), cookie)
	}
	if left := time.Until(cookie.Expires); left > 12*time.Hour || left < 11*time.Hour {
		t.Errorf("the cookie expires in %s", left)
	}
	b := browser{w, cookie}
	if who := b.sends(http.MethodGet, "/api/whoami", "").is(200).text("actor"); who != "admin" {
		t.Errorf("it is %s", who)
	}
	b.sends(http.MethodPost, "/api/commands/project:create", `{"name":"x"}`).is(200)
	b.sends(http.MethodGet, "/api/live", "").is(200)
	if page := b.sends(http.MethodGet, "/", "").is(200); !strings.Contains(string(page.body), "logged in as admin") {
		t.Errorf("the page says %s", page.body)
	}
	event, err := events.Decode(w.log.messages[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	used, ok := event.Data.(*events.TokenUsed)
	if !ok || event.Source != "/system" || used.Name != "admin" || used.Address != "127.0.0.1" ||
		used.LoginUntil/1000 != cookie.Expires.Unix() {
		t.Errorf("the login is recorded as %s: %+v", event.Source, event.Data)
	}
	answer.header.Del("Set-Cookie")
	for what, secret := range map[string]string{"cookie": cookie.Value, "code": code} {
		for _, m := range w.log.messages {
			if strings.Contains(string(m.Body), secret) {
				t.Errorf("the log of events holds the %s: %s", what, m.Body)
			}
		}
		if strings.Contains(said.String(), secret) {
			t.Errorf("the server's log holds the %s:\n%s", what, said)
		}
		for name, values := range answer.header {
			if strings.Contains(strings.Join(values, " "), secret) {
				t.Errorf("the answer holds the %s in %s", what, name)
			}
		}
		if strings.Contains(string(answer.body), secret) {
			t.Errorf("the answer holds the %s: %s", what, answer.body)
		}
	}
	if !strings.Contains(said.String(), "POST /login") && !strings.Contains(said.String(), "route=/login") {
		t.Errorf("the server's log does not have the login:\n%s", said)
	}
}

// With TLS the cookie of a login is for this host and for TLS only, and answers demand TLS, except on loopback, where
// other servers of this machine would have to have it too.
func TestLoginWithTLS(t *testing.T) {
	w := build(t, func(c *setup) { c.AllowedHosts = []string{"maestro.example"} })
	server := httptest.NewTLSServer(w.api)
	t.Cleanup(server.Close)
	w.url, w.client = server.URL, server.Client()
	cookie := w.exchange(w.code(adminToken), "/").is(http.StatusSeeOther).cookie()
	if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-maestro") || cookie.Path != "/" ||
		cookie.Domain != "" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %s", cookie)
	}
	b := browser{w, cookie}
	if who := b.sends(http.MethodGet, "/api/whoami", "").is(200).text("actor"); who != "admin" {
		t.Errorf("it is %s", who)
	}
	plain := *cookie // a server without TLS, or another page of this host, may have set it
	plain.Name = strings.TrimPrefix(cookie.Name, "__Host-")
	browser{w, &plain}.sends(http.MethodGet, "/api/whoami", "").is(401)
	const header = "Strict-Transport-Security"
	for host, want := range map[string]string{"maestro.example": "max-age=", "localhost": "", "127.0.0.1": ""} {
		for _, path := range []string{"/login", "/api/whoami", "/healthz", "/nothing"} {
			got := w.send(http.MethodGet, path, adminToken, "", "Host", host).header.Get(header)
			if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
				t.Errorf("%s of %s: %s is %q", path, host, header, got)
			}
		}
	}
	gone := b.sends(http.MethodPost, "/logout", "").is(http.StatusSeeOther).cookie()
	if gone.Name != cookie.Name || !gone.Secure || gone.MaxAge >= 0 {
		t.Errorf("a logout leaves the cookie %s", gone)
	}
}

// Nobody guesses a secret: each has 128 random bits or more.
func TestSecretsAreLong(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	secrets := map[string]func() string{
		"the code of a login": func() string { return strings.TrimPrefix(w.code(adminToken), wire.LoginCodePrefix) },
		"its cookie":          func() string { return w.logIn(adminToken).cookie.Value },
		"a session's secret": func() string {
			_, token := w.session(adminToken, project, w.task(project), ``)
			return token[strings.LastIndex(token, ".")+1:]
		},
		"a user's token": func() string {
			token := w.token("user"+strconv.Itoa(len(w.log.messages)), "auditor")
			return token[strings.LastIndex(token, ".")+1:]
		},
	}
	const made = 50
	for what, secret := range secrets {
		var all []string
		for range made {
			all = append(all, secret())
		}
		// A place with more than eight signs in so many secrets is random, and has four bits, or five if the signs are
		// more than those of base 16.
		varies := 0
		for place := range all[0] {
			seen := map[byte]bool{}
			for _, one := range all {
				seen[one[place]] = true
			}
			if len(seen) > 8 {
				varies++
			}
		}
		bits := 4
		if strings.ContainsAny(strings.Join(all, ""), "GHIJKLMNOPQRSTUVWXYZghijklmnopqrstuvwxyz") {
			bits = 5
		}
		if varies*bits < 128 {
			t.Errorf("%s has %d random signs: %s", what, varies, all[0])
		}
		slices.Sort(all)
		if len(slices.Compact(all)) != made {
			t.Errorf("%s is not new each time", what)
		}
	}
}

// In a browser, a code that is not valid leads back to the form, which says so.
func TestWrongCodeShowsTheForm(t *testing.T) {
	w := open(t, nil)
	for path, want := range map[string]int{"/login": http.StatusOK, "/": http.StatusOK} {
		page := w.logIn(adminToken).sends(http.MethodGet, path, "").is(want)
		for _, part := range []string{`name="viewport"`, `href="/api/docs/style.css"`} {
			if !strings.Contains(string(page.body), part) {
				t.Errorf("%s lacks %s", path, part)
			}
		}
		if strings.Contains(string(page.body), "{{") || strings.Contains(string(page.body), "alert") {
			t.Errorf("%s is %s", path, page.body)
		}
	}
	const browsers = "text/html,application/xhtml+xml,*/*;q=0.8"
	again := w.exchange("mlc_WRONG<b>", "/", "Accept", browsers).is(http.StatusUnauthorized)
	for _, part := range []string{"<form", "The code is not valid", "maestro open", `role="alert"`} {
		if !strings.Contains(string(again.body), part) {
			t.Errorf("it shows no %s: %s", part, again.body)
		}
	}
	if got := again.header.Get("Content-Type"); got != "text/html; charset=utf-8" ||
		again.header.Get("Set-Cookie") != "" || strings.Contains(string(again.body), "WRONG") {
		t.Errorf("it is %s with %v: %s", got, again.header, again.body)
	}
	w.exchange("mlc_WRONG", "/", "Accept", "application/json").refused(401, "UNAUTHENTICATED", "The code is not valid")
}

// A path that leads to another server is not followed after a login.
func TestLoginLeadsNowhereElse(t *testing.T) {
	w := open(t, nil)
	for _, path := range []string{
		"//evil.example", "https://evil.example", `/\evil.example`, "javascript:alert(1)", "", "/a/../b",
		"/x\r\nSet-Cookie: a=b",
	} {
		if to := w.exchange(w.code(adminToken), path).is(303).header.Get("Location"); to != "/" {
			t.Errorf("%q leads to %q", path, to)
		}
	}
}

// A code is valid once, for a minute, and at its own server; only a user gets one.
func TestLoginCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, other := openInside(t, nil), openInside(t, nil)
		refuse := func(what, code string, at *world) {
			t.Helper()
			if r := at.exchange(code, "/"); r.status != http.StatusUnauthorized || r.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %d %s", what, r.status, r.body)
			}
		}
		code := w.code(adminToken)
		refuse("a code of another server", code, other)
		w.exchange(code, "/").is(303)
		refuse("a code that was used", code, w)
		code = w.code(adminToken)
		time.Sleep(59 * time.Second)
		w.exchange(code, "/").is(303)
		code = w.code(adminToken)
		time.Sleep(60 * time.Second)
		refuse("an old code", code, w)
		refuse("no code", "", w)
		code = w.code(w.token("ops", "admin"))
		w.do(adminToken, "token:revoke", `{"name":"ops"}`).is(200)
		refuse("a code of a revoked token", code, w)

		project := w.project()
		_, session := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		w.send(http.MethodPost, "/api/login-codes", session, "").refused(403, "NOT_ALLOWED", "A browser cannot log in")
		w.send(http.MethodPost, "/api/login-codes", "", "").is(http.StatusUnauthorized)
	})
}

// Nobody can fill the server's memory with codes or logins: the oldest ends.
func TestLoginsAreBounded(t *testing.T) {
	w := open(t, nil)
	first := w.code(adminToken)
	for range 16 {
		w.code(adminToken)
	}
	if r := w.exchange(first, "/"); r.status != http.StatusUnauthorized {
		t.Errorf("the oldest of 17 codes: %d", r.status)
	}
	oldest := w.logIn(adminToken)
	ops := w.logIn(w.token("ops", "admin"))
	for range 16 {
		w.logIn(adminToken)
	}
	oldest.sends(http.MethodGet, "/api/whoami", "").refused(401, "UNAUTHENTICATED", "The login has ended")
	ops.sends(http.MethodGet, "/api/whoami", "").is(200) // another token's
	if n := len(w.send(http.MethodGet, "/api/logins", adminToken, "").array()); n != 17 {
		t.Errorf("%d logins are listed", n)
	}
}

// A cookie ends with its time, with its token, with a logout, and when a user ends it. What it has open ends too.
func TestLoginsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		gone := func(what string, b browser) {
			t.Helper()
			b.sends(http.MethodGet, "/api/whoami", "").is(http.StatusUnauthorized)
			if page := b.sends(http.MethodGet, "/", ""); page.status != 303 || page.header.Get("Location") != "/login" {
				t.Errorf("%s: the page answers %d", what, page.status)
			}
		}
		waits := func(b browser) (ended chan reply) {
			ended = make(chan reply, 1)
			go func() { ended <- b.sends(http.MethodGet, "/api/inbox?wait=30s", "") }()
			synctest.Wait()
			return ended
		}
		expired := w.logIn(adminToken)
		time.Sleep(12*time.Hour - time.Second)
		expired.sends(http.MethodGet, "/api/whoami", "").is(200) // it is not extended
		open := waits(expired)
		time.Sleep(time.Second)
		synctest.Wait()
		if r := <-open; r.status != http.StatusUnauthorized {
			t.Errorf("a call that is open when the login expires: %d %s", r.status, r.body)
		}
		gone("expired", expired)

		out := w.logIn(adminToken)
		open = waits(out)
		if r := out.sends(http.MethodPost, "/logout", ""); r.status != 303 || r.cookie().MaxAge >= 0 {
			t.Errorf("a logout: %d %v", r.status, r.header)
		}
		synctest.Wait()
		if r := <-open; r.status < 400 {
			t.Errorf("a call that is open at the logout: %d", r.status)
		}
		gone("logged out", out)

		revoked := w.logIn(w.token("ops", "admin"))
		open = waits(revoked)
		w.do(adminToken, "token:revoke", `{"name":"ops"}`).is(200)
		synctest.Wait()
		if r := <-open; r.status != http.StatusUnauthorized {
			t.Errorf("a call that is open when the token is revoked: %d", r.status)
		}
		gone("revoked", revoked)
		if logins := w.send(http.MethodGet, "/api/logins", adminToken, "").array(); len(logins) != 0 {
			t.Errorf("it lists %v", logins)
		}

		ended := w.logIn(adminToken)
		id := w.send(http.MethodGet, "/api/logins", adminToken, "").array()[0].(map[string]any)["id"].(string)
		eye := w.token("eye", "auditor")
		w.send(http.MethodDelete, "/api/logins/"+id, eye, "").is(403)
		w.send(http.MethodDelete, "/api/logins/none", adminToken, "").refused(404, "NOT_FOUND", "")
		w.send(http.MethodDelete, "/api/logins/"+id, adminToken, "").is(200)
		gone("ended by the user", ended)

		brief := w.do(adminToken, "token:create", `{"name":"brief","kind":"admin","expiresIn":60000}`).is(200).
			text("token")
		b := w.logIn(brief)
		time.Sleep(61 * time.Second)
		gone("whose token has expired", b)
	})
}

// A login has the permissions of its token, and nobody's cookie reads more than the token.
func TestLoginIsItsToken(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	b := w.logIn(w.token("reader", "read-only", project))
	b.sends(http.MethodGet, "/api/tasks?projectId="+project, "").is(200)
	b.sends(http.MethodGet, "/api/tasks?projectId="+w.project(), "").is(403)
	b.sends(http.MethodPost, "/api/commands/project:create", `{"name":"x"}`).refused(403, "NOT_ALLOWED", "")
	b.sends(http.MethodGet, "/api/logins", "").refused(403, "NOT_ALLOWED", "")
	// A token in the request counts, not the cookie.
	if who := b.sends(http.MethodGet, "/api/whoami", "", "Authorization",
		"Bearer "+adminToken).is(200).text("actor"); who != "admin" {
		t.Errorf("it is %s", who)
	}
	b.sends(http.MethodGet, "/api/whoami", "", "Authorization", "Bearer nonsense").is(401)
	b.cookie.Value += "x"
	b.sends(http.MethodGet, "/api/whoami", "").is(401)
	b.sends(http.MethodGet, "/api/whoami", "", "Cookie", b.cookie.Name+"=a; "+b.cookie.Name+"=b").is(401)
}

// A page of another origin makes a browser send the cookie nowhere that it counts: not even a page that --allow-origin
// names. A write names its origin, and its body is JSON.
func TestOtherPagesHaveNoLogin(t *testing.T) {
	w := open(t, nil)
	b := w.logIn(adminToken)
	before := w.log.head()
	const create = "/api/commands/project:create"
	for name, test := range map[string]struct{ method, path, origin, site string }{
		"another origin":                    {http.MethodPost, create, "https://evil.example", "cross-site"},
		"another port":                      {http.MethodPost, create, "http://127.0.0.1:1", "same-site"},
		"an opaque origin":                  {http.MethodPost, create, "null", "cross-site"},
		"an allowed origin":                 {http.MethodPost, create, "https://page.example", "cross-site"},
		"an allowed origin, without a site": {http.MethodPost, create, "https://page.example", ""},
		"no origin":                         {http.MethodPost, create, "", ""},
		"no origin, another site":           {http.MethodPost, create, "", "cross-site"},
		"a write like a navigation":         {http.MethodPost, create, "", "none"},
		"a read of another site":            {http.MethodGet, "/api/whoami", "", "cross-site"},
		"a read of another port":            {http.MethodGet, "/api/whoami", "", "same-site"},
		"a read of an allowed origin":       {http.MethodGet, "/api/whoami", "https://page.example", "cross-site"},
		"events for an allowed origin":      {http.MethodGet, "/api/live", "https://page.example", "cross-site"},
		"events for another origin":         {http.MethodGet, "/api/live", "https://evil.example", "cross-site"},
		"a logout by another origin":        {http.MethodPost, "/logout", "https://evil.example", "same-origin"},
		"a logout without an origin":        {http.MethodPost, "/logout", "", "cross-site"},
	} {
		body := ""
		if test.path == create {
			body = `{"name":"x"}`
		}
		r := b.sends(test.method, test.path, body, "Origin", test.origin, "Sec-Fetch-Site", test.site)
		if r.status != 403 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	for _, kind := range []string{
		"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
	} {
		if r := b.sends(http.MethodPost, create, `{"name":"x"}`, "Content-Type", kind); r.status != 415 {
			t.Errorf("a body of type %q: %d %s", kind, r.status, r.body)
		}
	}
	if w.log.head() != before {
		t.Error("another page wrote")
	}
	b.sends(http.MethodGet, "/api/whoami", "", "Origin", "", "Sec-Fetch-Site", "none").is(200) // a navigation
	b.sends(http.MethodPost, create, `{"name":"x"}`, "Sec-Fetch-Site", "").is(200)
	b.sends(http.MethodPost, create, `{"name":"x"}`, "Origin", "").is(200)
	// Another page cannot log a browser in either.
	code := w.code(adminToken)
	for _, header := range [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", "https://page.example"},
		{"Origin", "null"},
		{"Origin", ""},
		{"Origin", "", "Sec-Fetch-Site", "cross-site"},
		{"Content-Type", "text/plain"},
	} {
		if r := w.exchange(code, "/", header...); r.status < 400 || r.header.Get("Set-Cookie") != "" {
			t.Errorf("a login with %q: %d", header, r.status)
		}
	}
	w.exchange(code, "/").is(303)
}

// A name that an attacker's DNS leads to this machine does not reach the server, with a cookie or without.
func TestReboundNamesHaveNoLogin(t *testing.T) {
	w := open(t, nil)
	b := w.logIn(adminToken)
	for _, path := range []string{"/", "/login", "/api/whoami", "/api/live"} {
		b.sends(http.MethodGet, path, "", "Host", "evil.example", "Origin", "").refused(403, "HOST_NOT_ALLOWED", "")
	}
}

// Every answer tells a browser what it may do with it; a page may run its own script, and nothing else.
func TestSecurityHeaders(t *testing.T) {
	const (
		data = "default-src 'none'; frame-ancestors"
		page = "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self'"
	)
	w := open(t, nil)
	b := w.logIn(adminToken)
	for _, test := range []struct {
		what string
		reply
		policy string
	}{
		{"data", w.send(http.MethodGet, "/api/whoami", adminToken, ""), data},
		{"a command", w.do(adminToken, "project:create", `{"name":"x"}`), data},
		{"an error", w.send(http.MethodGet, "/api/whoami", "nonsense", ""), data},
		{"another host", w.send(http.MethodGet, "/", "", "", "Host", "evil.example"), data},
		{"nothing", w.send(http.MethodGet, "/nothing", "", ""), data},
		{"health", w.send(http.MethodGet, "/healthz", "", ""), data},
		{"a stream", w.send(http.MethodGet, "/api/live", adminToken, ""), data},
		{"the login page", w.send(http.MethodGet, "/login", "", ""), page},
		{"its script", w.send(http.MethodGet, "/login.js", "", ""), page},
		{"the home page", b.sends(http.MethodGet, "/", ""), page},
	} {
		for name, want := range map[string]string{
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy":           "camera=()",
			"Cache-Control":                "no-store",
			"Content-Security-Policy":      test.policy,
		} {
			if got := test.header.Values(name); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: %s is %q, want %s", test.what, name, got, want)
			}
		}
		if test.header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: it demands TLS without having it", test.what)
		}
		if policy := test.header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: its policy is %s", test.what, policy)
		}
	}
	login := w.send(http.MethodGet, "/login", "", "")
	if strings.Contains(string(login.body), "onclick") || strings.Count(string(login.body), "<script") != 1 ||
		!strings.Contains(string(login.body), `<script src="/login.js"></script>`) {
		t.Errorf("the login page has a script of its own: %s", login.body)
	}
}

// recordsUses gives the server the loop that records first uses.
func recordsUses(t *testing.T) func(*setup) {
	return func(c *setup) {
		c.serving = func(served *service.Service) {
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() {
				served.RecordUses(ctx)
				close(ended)
			}()
			t.Cleanup(func() {
				cancel()
				<-ended
			})
		}
	}
}

// from sends a request from an address.
func (w *world) calls(address, token string) {
	w.Helper()
	w.client = &http.Client{Transport: direct{w.api, address}}
	w.send(http.MethodGet, "/api/whoami", token, "").is(200)
	synctest.Wait()
}

// uses lists what the log notes of the uses of tokens.
func (w *world) uses() (uses []string) {
	w.Helper()
	for _, m := range w.log.messages {
		event, err := events.Decode(m.Body)
		if err != nil {
			w.Fatal(err)
		}
		if used, ok := event.Data.(*events.TokenUsed); ok {
			uses = append(uses, used.Name+" "+used.Address)
		}
	}
	return uses
}

// The first use of a user's token from an address is an event. Loopback is no address, another port and another address
// of the same IPv6 network are no other one, and nobody fills the log: 16 addresses of a token are noted.
func TestFirstUseOfAnAddressIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, recordsUses(t))
		ops := w.token("ops", "admin")
		project := w.project()
		_, session := w.session(adminToken, project, w.task(project), ``)
		for _, address := range []string{
			"127.0.0.1:1", "[::1]:9", "192.0.2.1:1", "192.0.2.1:2", "[::ffff:192.0.2.1]:3", "[2001:db8::1]:1",
			"[2001:db8::2]:1", "[2001:db8:0:1::2]:1",
		} {
			w.calls(address, ops)
			w.calls(address, session)
		}
		w.calls("192.0.2.1:1", adminToken)
		want := []string{"ops 192.0.2.1", "ops 2001:db8::/64", "ops 2001:db8:0:1::/64", "admin 192.0.2.1"}
		if got := w.uses(); !slices.Equal(got, want) {
			t.Errorf("it notes %q, want %q", got, want)
		}
		for n := range 40 {
			w.calls("198.51.100."+string(rune('0'+n/10))+string(rune('0'+n%10))+":1", adminToken)
		}
		if got := w.uses(); len(got) != 3+events.MaxTokenAddresses {
			t.Errorf("after 41 addresses of one token, %d uses are noted", len(got))
		}
	})
}

// A call does not wait for the record of its first use, and one that cannot be recorded is recorded at a later call.
func TestFirstUsesDelayNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served *service.Service
		w := openInside(t, func(c *setup) { c.serving = func(s *service.Service) { served = s } })
		for n := range 100 { // nobody records them
			w.calls("192.0.2."+string(rune('0'+n/10))+string(rune('0'+n%10))+":1", adminToken)
		}
		if got := w.uses(); len(got) != 0 {
			t.Fatalf("it notes %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			served.RecordUses(ctx)
			close(ended)
		}()
		synctest.Wait()
		if got := w.uses(); len(got) != events.MaxTokenAddresses {
			t.Errorf("it notes %d uses afterwards", len(got))
		}
		cancel()
		<-ended
	})
}

// onceFull is a log whose disk is full for one append.
type onceFull struct {
	memoryLog

	full atomic.Bool
}

func (l *onceFull) Append(ctx context.Context, after uint64, messages []events.Message) error {
	if l.full.CompareAndSwap(true, false) {
		return events.ErrFull
	}
	return l.memoryLog.Append(ctx, after, messages)
}

// A first use that cannot be recorded is recorded at a later call: also one that came while the log took no writes.
func TestFirstUsesOutlastAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &onceFull{}
		handler, err := engine.Open(t.Context(), engine.Config{Log: log, Now: time.Now, After: time.After})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(handler.Close)
		records := recordsUses(t)
		w := openInside(t, func(c *setup) {
			records(c)
			c.Handler, c.Log = handler, log
		})
		log.full.Store(true)
		w.calls("192.0.2.3:1", adminToken) // its attempt meets the full disk
		if handler.Health() == nil {
			t.Fatal("the log takes writes")
		}
		w.calls("192.0.2.4:1", adminToken)
		time.Sleep(2 * time.Second) // the log is tried again
		synctest.Wait()
		if health := handler.Health(); health != nil {
			t.Fatal(health)
		}
		w.log = &log.memoryLog
		for range 3 {
			w.calls("192.0.2.4:1", adminToken)
		}
		w.calls("192.0.2.3:1", adminToken)
		if got := w.uses(); !slices.Equal(got, []string{"admin 192.0.2.4", "admin 192.0.2.3"}) {
			t.Errorf("it notes %q", got)
		}
	})
}

// A login of a server that writes nothing is possible, and a text that nobody may read says so to a browser too.
func TestLoginToAReadOnlyServer(t *testing.T) {
	w := open(t, nil)
	w.project()
	w.handler.StopWrites(events.ErrReadOnly)
	b := w.logIn(adminToken)
	b.sends(http.MethodGet, "/api/projects", "").is(200)
	if w.log.head() != 1 {
		t.Error("it was recorded")
	}
}
