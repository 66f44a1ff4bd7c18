package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"maestro/service"
	"maestro/service/wire"
)

// A server proves to anybody that it knows a token, and reveals neither a token nor who exists.
func TestIdentity(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	_, session := w.session(adminToken, project, w.task(project), ``)
	const challenge = "a challenge of one's own"
	ask := func(public, challenge string) reply {
		query := url.Values{"credential": {public}, "challenge": {challenge}}
		return w.send(http.MethodGet, wire.IdentityPath+"?"+query.Encode(), "", "")
	}
	tokens := map[string]string{wire.AdminPart: adminToken}
	ghost := service.SessionToken(serverKey, "sess_ghost", 7)
	for _, token := range []string{session, w.token("deputy", "admin"), ghost} {
		tokens[wire.PublicPart(token)] = token
	}
	for public, token := range tokens {
		r := ask(public, challenge).is(200)
		if r.text("product") != wire.Product || r.text("proof") != wire.Prove(token, challenge) {
			t.Errorf("the identity for %s: %s", token, r.body)
		}
		if strings.Contains(string(r.body), token) || r.text("proof") == wire.Prove(token, challenge+".") {
			t.Errorf("the identity for %s: %s", token, r.body)
		}
	}
	for _, public := range []string{"mss_", "x.1", "mss_a", "mss_a.1.2", "other"} {
		if r := ask(public, challenge).is(200); strings.Contains(string(r.body), "proof") {
			t.Errorf("the identity for %q: %s", public, r.body)
		}
	}
	ask("admin", "short").refused(400, "VALIDATION_ERROR", "")
	ask("admin", strings.Repeat("x", 129)).refused(400, "VALIDATION_ERROR", "")
	w.send(http.MethodGet, wire.IdentityPath, "", "").is(200)
	w.send(http.MethodPost, wire.IdentityPath, "", "").refused(405, "METHOD_NOT_ALLOWED", "")
}

func TestPublicParts(t *testing.T) {
	for token, want := range map[string]string{
		"mss_a.1.secret": "mss_a.1", "msu_name.2.secret": "msu_name.2", "msu_secret": wire.AdminPart,
		"": "", "mss_secret": "", "a.b": "", "a.b.c.d": "", "secret": "",
	} {
		if got := wire.PublicPart(token); got != want {
			t.Errorf("the identity for %q: %q", token, got)
		}
	}
}
