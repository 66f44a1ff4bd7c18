package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
	"maestro/service/wire"
)

// from makes a world's calls come from an address.
func (w *world) from(address string) { w.client.Transport = direct{w.api, address} }

// identity asks the server to prove that it knows the token with a public part.
func (w *world) identity(public string) reply { return w.identityOf(public, "") }

const challenge = "a challenge of one's own"

// identityOf is identity for a caller that proves that it holds a token.
func (w *world) identityOf(public, holder string) reply {
	query := url.Values{"credential": {public}, "challenge": {challenge}, "holder": {holder}}
	return w.send(http.MethodGet, wire.IdentityPath+"?"+query.Encode(), "", "")
}

// floods are, for each quota of an address, calls that use it up.
var floods = map[string][]func(w *world) reply{
	"address-identities": {
		func(w *world) reply { return w.send(http.MethodGet, wire.IdentityPath, "", "") },
		func(w *world) reply { return w.identity("mss_nobody.1") },
		func(w *world) reply { return w.identity("msu_nobody.1") },
		func(w *world) reply { return w.identity(wire.AdminPart) },
		func(w *world) reply { return w.send(http.MethodGet, "/readyz", "", "") },
		func(w *world) reply { return w.send(http.MethodGet, "/healthz", "", "") },
		func(w *world) reply { return w.send(http.MethodGet, "/nothing/here", "", "") },
		func(w *world) reply { return w.send(http.MethodOptions, "/api/projects", "", "") },
	},
	"address-calls": {
		func(w *world) reply { return w.send(http.MethodGet, "/api/projects", "", "") },
		func(w *world) reply { return w.send(http.MethodGet, "/api/projects", "wrong", "") },
		func(w *world) reply { return w.send(http.MethodPost, "/api/commands/task:create", "wrong", "{}") },
		func(w *world) reply { return w.wrongCode() },
		func(w *world) reply { return w.wrongCode("Accept", "text/html") },
	},
}

// wrongCode tries to log in with a code that nobody got.
func (w *world) wrongCode(header ...string) reply {
	return w.send(http.MethodPost, "/login", "", "code=mlc_WRONG&path=/",
		append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", w.url}, header...)...)
}

// TestAddressFloodSparesValidCredentials: whatever comes from an address, a caller there that has a valid credential
// is neither refused nor kept waiting. Callers without one are refused by no quota on the server's own machine.
func TestAddressFloodSparesValidCredentials(t *testing.T) {
	quotas := []string{}
	for _, q := range service.Quotas() {
		if !strings.HasPrefix(q.Name, "address-") || q.Name == "address-connections" {
			continue
		}
		quotas = append(quotas, q.Name+"=1/2")
		if len(floods[q.Name]) == 0 {
			t.Errorf("no flood uses up %s", q.Name)
		}
	}
	for _, address := range []string{"127.0.0.1:1", "127.9.8.7:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "192.0.2.1:1"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, quotas...))
			project := w.project()
			_, session := w.session(adminToken, project, w.task(project), ``)
			tokens := map[string]string{wire.AdminPart: adminToken}
			for _, token := range []string{session, w.token("deputy", "admin"), w.token("eyes", "auditor")} {
				tokens[wire.PublicPart(token)] = token
			}
			w.from(address)
			var all sync.WaitGroup
			defer all.Wait()
			for _, calls := range floods {
				for _, call := range calls {
					for range 20 {
						all.Go(func() {
							r := call(w)
							if r.status == http.StatusTooManyRequests && !strings.HasPrefix(address, "192") {
								t.Errorf("from %s: refused by a quota: %s", address, r.body)
							}
						})
					}
				}
			}
			synctest.Wait() // all have arrived, and those above the quota are held back
			began := time.Now()
			for public, token := range tokens {
				r := w.identityOf(public, wire.Hold(token, challenge)).is(200)
				if r.text("proof") != wire.Prove(token, challenge) {
					t.Errorf("%s: no proof for %s: %s", address, token, r.body)
				}
				w.send(http.MethodGet, "/api/whoami", token, "").is(200)
			}
			w.do(session, "report:progress", note).is(200)
			if waited := time.Since(began); waited != 0 {
				t.Errorf("%s: calls with a credential waited %s", address, waited)
			}
		})
	}
}

// TestIdentitiesAreSlowedDown: a caller that does not prove that it holds a valid credential, and asks more often than
// the quota allows, waits. A name is not a proof, nor is a proof of another or revoked credential or of another
// challenge. All addresses of this machine share one budget.
func TestIdentitiesAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "address-identities=1/2"))
		project := w.project()
		_, session := w.session(adminToken, project, w.task(project), ``)
		revoked := w.token("gone", "auditor")
		w.do(adminToken, "token:revoke", `{"name":"gone"}`).is(200)
		next := strings.TrimSuffix(wire.PublicPart(session), ".1") + ".2"
		held := wire.Hold(session, challenge)
		asked := [][2]string{
			{"", held},
			{"mss_nobody.1", held},
			{"mss_", held},
			{wire.PublicPart(revoked), wire.Hold(revoked, challenge)},
			{next, held},
			{wire.AdminPart, held},
			{wire.AdminPart, ""},
			{wire.PublicPart(session), ""},
			{wire.PublicPart(session), wire.Hold(session, challenge+".")},
			{wire.PublicPart(session), wire.Prove(session, challenge)},
		}
		waited := func(i int, public, holder string) bool {
			w.from([]string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"}[i%3])
			began := time.Now()
			w.identityOf(public, holder).is(200)
			return time.Since(began) > 0
		}
		for i, a := range asked {
			for !waited(i, "", "") { // the budget is used up, and while it waits one more call becomes free
			}
			if waited(i+1, "", "") || !waited(i+2, a[0], a[1]) {
				t.Errorf("a caller that names %q and proves %q does not wait", a[0], a[1])
			}
		}
		w.send(http.MethodGet, "/api/projects", "", "").refused(401, "UNAUTHENTICATED", "")
	})
	synctest.Test(t, func(t *testing.T) { // hundreds of agents on one machine may each run a command at once
		w := openInside(t, nil)
		began := time.Now()
		for range 2000 {
			w.send(http.MethodGet, wire.IdentityPath, "", "").is(200)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("2000 calls took %s", waited)
		}
	})
}

// TestOpenCallsAreSlowedDown: every call that needs no credential counts against its address.
func TestOpenCallsAreSlowedDown(t *testing.T) {
	evil := func(w *world) reply { return w.send(http.MethodGet, "/readyz", "", "", "Host", "evil.example") }
	quotas := map[string][]func(w *world) reply{
		"address-identities": floods["address-identities"],
		"address-calls":      append(floods["address-calls"], evil),
	}
	for quota, calls := range quotas {
		for i, call := range calls {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, limits(t, quota+"=1/2"))
				w.from("127.0.0.1:1")
				began := time.Now()
				for range 20 {
					call(w)
				}
				if waited := time.Since(began); waited < 9*time.Second {
					t.Errorf("20 of the calls %d of %s took %s", i, quota, waited)
				}
			})
		}
	}
}

// TestProofsAreSlowedDown: a caller that keeps proving that it holds a credential is bounded by the quotas of the
// credential and of its project.
func TestProofsAreSlowedDown(t *testing.T) {
	for _, quota := range []string{"session-identities", "project-identities"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, "address-identities=1/2", quota+"=1/2"))
			project := w.project()
			_, session := w.session(adminToken, project, w.task(project), ``)
			elsewhere := w.project()
			_, other := w.session(adminToken, elsewhere, w.task(elsewhere), ``)
			ask := func(token string) { w.identityOf(wire.PublicPart(token), wire.Hold(token, challenge)).is(200) }
			began := time.Now()
			for range 20 {
				ask(session)
			}
			if waited := time.Since(began); waited < 5*time.Second { // some count against the quota of the address
				t.Errorf("%s: 20 calls took %s", quota, waited)
			}
			began = time.Now()
			if ask(other); time.Since(began) > 0 {
				t.Errorf("%s: another project's session waits", quota)
			}
		})
	}
}

// TestCallsWithoutCredentialsAreLimited: calls without a valid credential are bounded for each address and in total,
// and other calls pass. On the server's own machine, such calls are delayed and then told what is wrong with them.
func TestCallsWithoutCredentialsAreLimited(t *testing.T) {
	for _, limit := range []string{"address-calls", "server-calls"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=1/2"))
			w.from("192.0.2.1:1")
			for range 2 {
				w.send(http.MethodGet, "/api/projects", "", "").refused(401, "UNAUTHENTICATED", "")
			}
			w.send(http.MethodGet, "/api/projects", "wrong", "").limited(limit)
			w.send(http.MethodGet, "/api/projects", adminToken, "").is(200)
			w.send(http.MethodGet, "/readyz", "", "").is(200)
		})
		synctest.Test(t, func(t *testing.T) { // so are logins with a wrong code
			w := openInside(t, limits(t, limit+"=1/2"))
			w.from("192.0.2.1:1")
			for range 2 {
				w.wrongCode().refused(401, "UNAUTHENTICATED", "The code is not valid")
			}
			w.wrongCode().limited(limit)
		})
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=1/2"))
			began := time.Now()
			for range 20 {
				w.send(http.MethodGet, "/api/projects", "wrong", "").refused(401, "UNAUTHENTICATED", "")
			}
			if waited := time.Since(began); waited < 9*time.Second {
				t.Errorf("20 calls took %s", waited)
			}
		})
	}
}
