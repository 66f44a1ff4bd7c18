package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func TestTokens(t *testing.T) {
	var said lockedBuffer
	w := open(t, func(c *setup) {
		c.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	project := w.project()
	whoami := func(token string) reply { t.Helper(); return w.send(http.MethodGet, "/api/whoami", token, "") }

	made := w.do(adminToken, "token:create", `{"name":"ci","kind":"admin"}`, wire.HeaderKey, "k").is(200)
	first := made.text("token")
	again := w.do(adminToken, "token:create", `{"kind":"admin","name":"ci"}`, wire.HeaderKey, "k").is(200)
	if again.text("token") != first || first != service.NamedToken(serverKey, "ci", 1) ||
		again.header.Get(wire.HeaderRetried) != "true" {
		t.Errorf("the same key gives %q after %q", again.text("token"), first)
	}
	if me := whoami(first).is(200); me.text("actor") != "ci" || me.text("kind") != "user" ||
		me.text("access") != "admin" {
		t.Errorf("whoami says %s", me.body)
	}
	w.do(first, "task:create", `{"project":"`+project+`","title":"T"}`).is(200)
	if e := w.last(); e.Source != "/users/ci" || e.Authn != "token" {
		t.Errorf("its event comes from %s, authenticated by %s", e.Source, e.Authn)
	}
	w.do(adminToken, "token:create", `{"name":"ci","kind":"auditor"}`).refused(409, "CONFLICT",
		"There is a token 'ci' already")

	// A revoked token is invalid at once; creating it again gives another secret.
	revoked := w.do(adminToken, "token:revoke", `{"name":"ci"}`).is(200)
	if revoked.at("token") != nil {
		t.Errorf("the answer to a revocation has a secret: %s", revoked.body)
	}
	refused := whoami(first).refused(401, "UNAUTHENTICATED", "revoked")
	w.do(first, "project:create", `{"name":"x"}`).refused(401, "UNAUTHENTICATED", "revoked")
	if r := w.do(adminToken, "token:revoke", `{"name":"ci"}`).is(200); r.at("event") != nil {
		t.Errorf("revoked twice: %s", r.body)
	}
	second := w.do(adminToken, "token:create", `{"name":"ci","kind":"auditor"}`).is(200).text("token")
	if second == first {
		t.Error("the old secret is valid again")
	}
	whoami(first).refused(401, "UNAUTHENTICATED", "revoked")
	if me := whoami(second).is(200); me.text("access") != "auditor" {
		t.Errorf("whoami says %s", me.body)
	}
	w.do(second, "task:create", `{"project":"`+project+`","title":"T"}`).refused(403, "NOT_ALLOWED",
		"auditor token 'ci'")

	// A session's token: the old secret is invalid, and the answer has the new one, also for a retry.
	id, old := w.session(adminToken, project, w.task(project), ``)
	exchanged := w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`, wire.HeaderKey, "r").is(200)
	fresh := exchanged.text("token")
	if got := w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`, wire.HeaderKey,
		"r").is(200).text("token"); got != fresh {
		t.Errorf("a retry gives %q after %q", got, fresh)
	}
	whoami(old).refused(401, "UNAUTHENTICATED", "revoked")
	if me := whoami(fresh).is(200); me.text("session") != id {
		t.Errorf("whoami with the new secret: %s", me.body)
	}
	w.do(fresh, "report:progress", `{"message":"m"}`).is(200)
	w.do(fresh, "token:revoke", `{"sessionId":"`+id+`"}`).refused(403, "NOT_ALLOWED", "")
	reader := w.token("reader", "read-only", project)

	list := w.send(http.MethodGet, "/api/tokens", adminToken, "").is(200)
	like(t, "tokens",
		`[{"name":"ci","kind":"auditor","projectIds":[],"generation":2,"createdAt":"NUMBER",`+
			`"createdBy":"/users/admin",`+
			`"revokedAt":null,"expiresAt":null,"expired":false,"lastUsedAt":"NUMBER","lastUsedFrom":"127.0.0.1"},
	 {"name":"reader","kind":"read-only","projectIds":["`+project+`"],"generation":1,
	  "revokedAt":null,"expired":false,"lastUsedAt":null,"lastUsedFrom":null}]`, any(list.array()))

	// The home's own admin token.
	w.do(adminToken, "token:create", `{"name":"admin","kind":"auditor"}`).refused(409, "CONFLICT", "'admin'")
	w.do(adminToken, "token:revoke", `{"name":"admin"}`).refused(422, "BUSINESS_RULE_ERROR", "cannot be revoked")
	whoami(adminToken).is(200)

	for body, message := range map[string]string{
		`{"kind":"admin"}`:                                           "name is required",
		`{"name":"a b","kind":"admin"}`:                              "is not an id",
		`{"name":"../x","kind":"admin"}`:                             "is not an id",
		`{"name":"a.b","kind":"admin"}`:                              "is not an id",
		`{"name":"é","kind":"admin"}`:                                "is not an id",
		`{"name":"` + strings.Repeat("a", 129) + `","kind":"admin"}`: "at most 128",
		`{"name":"x"}`:                                               "kind is required: admin, auditor or read-only",
		`{"name":"x","kind":"owner"}`:                                "kind must be",
		`{"name":"x","kind":"read-only"}`:                            "names the projects",
		`{"name":"x","kind":"admin","projectIds":["p"]}`:             "only a read-only token",
		`{"name":"x","kind":"admin","secret":"s"}`:                   "secret",
	} {
		w.do(adminToken, "token:create", body).refused(400, "VALIDATION_ERROR", message)
	}
	w.do(adminToken, "token:create", `{"name":"x","kind":"read-only","projectIds":["none"]}`).refused(404, "NOT_FOUND",
		"Project")
	w.do(adminToken, "token:revoke", `{"name":"none"}`).refused(404, "NOT_FOUND", "Token")
	w.do(adminToken, "token:revoke", `{"sessionId":"none"}`).refused(404, "NOT_FOUND", "Session")
	w.do(adminToken, "token:revoke", `{"name":"ci","sessionId":"`+id+`"}`).refused(400, "VALIDATION_ERROR",
		"name a token, or a session")
	w.do(adminToken, "token:revoke", `{}`).refused(400, "VALIDATION_ERROR", "name a token, or a session")

	// Secrets that are not of this server, however similar.
	for _, bad := range []string{
		service.NamedToken([]byte("another key"), "ci", 2), service.NamedToken(serverKey, "ci", 3),
		service.NamedToken(serverKey, "none", 1),
		service.NamedToken(serverKey, "admin", 1), strings.Replace(second, "ci", "reader", 1), second[:len(second)-1],
		second + "x", "msu_", "msu_ci.2.", "msu_..",
		strings.Replace(fresh, "mss_", "msu_", 1), strings.Replace(second, "msu_", "mss_", 1),
	} {
		whoami(bad).refused(401, "UNAUTHENTICATED", "")
	}

	// The secrets are in the answers that issued them, and nowhere else.
	places := map[string]string{
		"the log's export": string(w.export("")),
		"the list":         string(list.body),
		"an error":         string(refused.body),
		"the server's log": said.String(),
		"the refusals":     string(w.send(http.MethodGet, "/api/audit/denials", adminToken, "").is(200).body),
		"the views":        w.views(),
		"an event":         string(made.body[:bytes.Index(made.body, []byte(`,"token":"`))]),
	}
	for _, secret := range []string{first, second, old, fresh, reader, adminToken} {
		mac := secret[strings.LastIndex(secret, ".")+1:]
		for where, text := range places {
			if strings.Contains(text, mac) {
				t.Errorf("a secret is in %s: %s", where, text)
			}
		}
	}
	if verdict := judge(t, w.export(""), nil); len(verdict.Faults) > 0 {
		t.Errorf("the audit: %+v", verdict.Faults)
	}
}

// TestTokensExpire: an expired token is refused, and its open calls end.
func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		head := fmt.Sprint(w.log.head() + 100)
		token := w.do(adminToken, "token:create",
			`{"name":"ci","kind":"admin","expiresIn":60000}`).is(200).text("token")
		w.do(token, "task:create", `{"project":"`+project+`","title":"T"}`).is(200)
		time.Sleep(58 * time.Second)
		w.send(http.MethodGet, "/api/whoami", token, "").is(200)
		first := func() map[string]any {
			return w.send(http.MethodGet, "/api/tokens", adminToken, "").is(200).array()[0].(map[string]any)
		}
		if shown := first(); shown["expired"] != false ||
			shown["lastUsedAt"] != float64(time.Now().UnixMilli()) ||
			shown["expiresAt"] != float64(time.Now().Add(2*time.Second).UnixMilli()) {
			t.Errorf("it is shown as %v", shown)
		}
		// A wait of 5 seconds ends after 2.
		before := time.Now()
		w.send(http.MethodGet, "/api/whoami?minSeq="+head, token, "").refused(401, "UNAUTHENTICATED", "expired")
		if waited := time.Since(before); waited != 2*time.Second {
			t.Errorf("the wait ended after %s", waited)
		}
		w.send(http.MethodGet, "/api/whoami", token, "").refused(401, "UNAUTHENTICATED", "expired")
		w.do(token, "task:create", `{"project":"`+project+`","title":"T"}`).refused(401, "UNAUTHENTICATED", "expired")
		if shown := first(); shown["expired"] != true {
			t.Errorf("it is shown as %v", shown)
		}
		can := w.send(http.MethodGet, "/api/audit/can?actor=ci&command=task:list", adminToken, "").is(200)
		if can.at("allowed") != false {
			t.Errorf("audit can says that it may read: %s", can.body)
		}
		if verdict := judge(t, w.export(""), nil); len(verdict.Faults) > 0 {
			t.Errorf("the audit: %+v", verdict.Faults)
		}
	})
}

// TestWaitsEndWithTheirCredential: a read that waits for a sequence ends when its token, the token's creator, or its
// session's secret is revoked.
func TestWaitsEndWithTheirCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		maker := w.token("maker", "admin")
		kid := w.do(maker, "token:create", `{"name":"kid","kind":"auditor"}`).is(200).text("token")
		session, secret := w.session(adminToken, project, w.task(project), ``)
		for _, test := range []struct{ token, revocation string }{
			{kid, `{"name":"maker"}`}, {secret, `{"sessionId":"` + session + `"}`},
		} {
			done := make(chan reply)
			began := time.Now()
			go func() {
				done <- w.send(http.MethodGet, "/api/whoami?minSeq="+fmt.Sprint(w.log.head()+100), test.token, "")
			}()
			synctest.Wait()
			w.do(adminToken, "token:revoke", test.revocation).is(200)
			(<-done).refused(401, "UNAUTHENTICATED", "The token was revoked")
			if waited := time.Since(began); waited != 0 {
				t.Errorf("%s: the wait went on for %s", test.revocation, waited)
			}
		}
	})
}

// memoryUses keeps the last uses of tokens in memory.
type memoryUses struct{ content []byte }

func (m *memoryUses) Load() ([]byte, error) { return m.content, nil }

func (m *memoryUses) Save(content []byte) error {
	m.content = content
	return nil
}

// The last use of a token survives a restart of the server.
func TestLastUseIsSaved(t *testing.T) {
	store := &memoryUses{}
	uses := service.OpenTokenUses(store, slog.New(slog.DiscardHandler))
	w := open(t, func(c *setup) { c.Uses = uses })
	token := w.token("ci", "auditor")
	w.send(http.MethodGet, "/api/whoami", token, "").is(200)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	uses.Run(ctx)
	first := string(w.send(http.MethodGet, "/api/tokens", adminToken, "").body)
	w = open(t, func(c *setup) { c.Uses = service.OpenTokenUses(store, slog.New(slog.DiscardHandler)) })
	w.token("ci", "auditor")
	shown := w.send(http.MethodGet, "/api/tokens", adminToken, "").array()[0].(map[string]any)
	if at, ok := shown["lastUsedAt"].(float64); !ok || !strings.Contains(first, fmt.Sprintf(`"lastUsedAt":%.0f`, at)) {
		t.Errorf("before: %s, then: %v", first, shown)
	}
	// A damaged store is discarded; a token of a later generation has not been used.
	service.OpenTokenUses(&memoryUses{content: []byte("{")}, slog.New(slog.DiscardHandler))
	w.do(adminToken, "token:revoke", `{"name":"ci"}`).is(200)
	w.token("ci", "auditor")
	shown = w.send(http.MethodGet, "/api/tokens", adminToken, "").array()[0].(map[string]any)
	if shown["lastUsedAt"] != nil {
		t.Errorf("a new token of the name is shown as used: %v", shown)
	}
}

// slowLog blocks a reader at a sequence until its context ends.
type slowLog struct {
	*memoryLog
	at      uint64
	reached chan struct{}
	// deaf: it then continues to read all the same.
	deaf bool
}

func (l *slowLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	return l.memoryLog.Read(ctx, from, to, func(m events.Message) error {
		if m.Sequence == l.at && to > from {
			l.reached <- struct{}{}
			<-ctx.Done()
			if !l.deaf {
				return ctx.Err()
			}
		}
		return yield(m)
	})
}

// TestOpenCallsEndWithToken: an export and an audit end when their token is revoked.
func TestOpenCallsEndWithToken(t *testing.T) {
	for _, path := range []string{"/api/audit/export", "/api/audit/verify"} {
		for _, token := range []string{"eye", "second"} {
			log := &slowLog{at: 3, reached: make(chan struct{})}
			w := open(t, func(c *setup) { log.memoryLog = c.Log.(*memoryLog); c.Log = log })
			w.history()
			secret := w.token(token, map[string]string{"eye": "auditor", "second": "admin"}[token])
			done := make(chan reply)
			go func() { done <- w.send(http.MethodGet, path, secret, "") }()
			<-log.reached
			w.do(adminToken, "token:revoke", `{"name":"`+token+`"}`).is(200)
			if r := <-done; r.status != http.StatusUnauthorized || strings.Contains(string(r.body), "sequence") {
				t.Errorf("%s of a revoked token: %d %s", path, r.status, r.body)
			}
		}
	}
	// A log that continues to read all the same: the stream ends before the next message.
	log := &slowLog{at: 3, reached: make(chan struct{}), deaf: true}
	w := open(t, func(c *setup) { log.memoryLog = c.Log.(*memoryLog); c.Log = log })
	w.history()
	secret := w.token("eye", "auditor")
	done := make(chan reply)
	go func() { done <- w.send(http.MethodGet, "/api/audit/export", secret, "") }()
	<-log.reached
	w.do(adminToken, "token:revoke", `{"name":"eye"}`).is(200)
	if r := <-done; r.status != http.StatusUnauthorized {
		t.Errorf("an export of a revoked token: %d %s", r.status, r.body)
	}
	// A new export is refused as well.
	if r := w.send(http.MethodGet, "/api/audit/export", secret, ""); r.status != http.StatusUnauthorized {
		t.Errorf("a new one: %d", r.status)
	}
}
