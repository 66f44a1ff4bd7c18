package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/internal/home"
	"maestro/service/wire"
)

// answers are what a server says, by path; a status other than 200 stands before the body, after a blank.
type answers map[string]string

// examined returns an examination of a server that answers so.
func examined(t *testing.T, a answers) *examination {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, known := a[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		status := http.StatusOK
		if _, err := fmt.Sscanf(said, "%d ", &status); err == nil {
			_, said, _ = strings.Cut(said, " ")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(said))
	}))
	t.Cleanup(server.Close)
	return &examination{
		Run:    &cli.Run{Env: map[string]string{}, Wall: time.Now},
		server: client.New(server.URL, "", client.WithPatience(0)),
		reads:  true,
		admin:  true,
		own:    true,
	}
}

// finds runs a check, and expects one finding of a kind, or none.
func finds(t *testing.T, name string, x *examination, look func(context.Context, *examination) []Finding, want *Kind) {
	t.Helper()
	found := look(t.Context(), x)
	checkFindings(t, found)
	if want == nil && len(found) > 0 || want != nil && (len(found) != 1 || found[0].ID != want.ID) {
		t.Errorf("%s: found %+v, want %+v", name, found, want)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServersAnswersBecomeFindings(t *testing.T) {
	now, ago := time.Now(), time.Now().Add(-2*skew)
	type said = map[string]any
	clock := func(wall time.Time, more said) string {
		s := said{"time": wall, "wall": wall}
		for name, value := range more {
			s[name] = value
		}
		return asJSON(t, s)
	}
	token := func(left time.Duration, more said) string {
		s := said{"name": "eve", "expiresAt": now.Add(left).UnixMilli()}
		for name, value := range more {
			s[name] = value
		}
		return asJSON(t, []any{s})
	}
	problem := `503 {"error":true,"code":"UNAVAILABLE","message":"The server takes no writes now","why":"w","next":"n"}`
	warned := `{"status":"ready","warnings":[{"code":"BACKUP","message":"m","next":"n"},` +
		`{"code":"CLOCK","message":"m","next":"n"}]}`
	hook := func(failing time.Duration, more said) string {
		s := said{"id": "hook_1", "name": "chat", "delivery": said{
			"failingSince": now.Add(-failing).UnixMilli(), "failures": 7, "behind": 13, "problem": "it answered 500",
		}}
		for name, value := range more {
			s[name] = value
		}
		return asJSON(t, []any{s})
	}
	for name, c := range map[string]struct {
		path, said string
		look       func(context.Context, *examination) []Finding
		want       *Kind
	}{
		"same version":    {"/identity", asJSON(t, said{"version": cli.Version()}), lookAtVersions, nil},
		"another version": {"/identity", `{"version":"v0.0.1"}`, lookAtVersions, versionSkew},
		"ready":           {"/readyz", `{"status":"ready"}`, lookAtReady, nil},
		"warned":          {"/readyz", warned, lookAtReady, readyWarning},
		"not ready":       {"/readyz", problem, lookAtReady, notReady},
		"no answer":       {"/nowhere", "", lookAtReady, serverSilent},
		"same clock":      {"/api/clock", clock(now, nil), lookAtClocks, nil},
		"another clock":   {"/api/clock", clock(ago, nil), lookAtClocks, clockSkew},
		"warned of it":    {"/api/clock", clock(now, said{"warning": "w", "next": "n"}), lookAtClocks, clockWrong},
		"no figures":      {"/nowhere", "", lookAtFigures, metricsMissing},
		"other figures":   {"/metrics", "{not figures", lookAtFigures, metricsMissing},
		"good for long":   {"/api/tokens", token(30*24*time.Hour, nil), lookAtTokens, nil},
		"expires soon":    {"/api/tokens", token(time.Hour, nil), lookAtTokens, tokenExpiring},
		"no webhook":      {"/api/webhooks", "[]", lookAtWebhooks, nil},
		"a webhook":       {"/api/webhooks", hook(0, said{"delivery": said{}}), lookAtWebhooks, nil},
		"one that fails":  {"/api/webhooks", hook(failingMost+time.Second, nil), lookAtWebhooks, webhookFailing},
		"one that is not allowed": {
			"/api/webhooks", hook(time.Hour, said{"delivery": said{
				"failingSince": 1, "problem": "nothing is sent to 127.0.0.1, a loopback address, " + wire.UnlessAllowed,
			}}), lookAtWebhooks, webhookFailing,
		},
		"one that failed":    {"/api/webhooks", hook(time.Second, nil), lookAtWebhooks, nil},
		"one that is parked": {"/api/webhooks", hook(time.Hour, said{"parked": said{}}), lookAtWebhooks, nil},
		"one of no sender":   {"/api/webhooks", hook(time.Hour, said{"delivery": nil}), lookAtWebhooks, nil},
		"revoked": {
			"/api/tokens", token(time.Hour, said{"revokedAt": 1}), lookAtTokens, nil,
		},
		"expired": {"/api/tokens", token(-time.Hour, said{"expired": true}), lookAtTokens, nil},
		"expired, its sessions live": {
			"/api/tokens", token(-time.Hour, said{"expired": true, "running": []string{"s"}}), lookAtTokens,
			tokenExpired,
		},
	} {
		a := answers{"/api/clock": clock(now, nil)}
		a[c.path] = c.said
		finds(t, name, examined(t, a), c.look, c.want)
	}
}

// madeHome makes a home with a log and secrets.
func madeHome(t *testing.T, x *examination) string {
	t.Helper()
	x.dir = filepath.Join(t.TempDir(), "home")
	h, err := home.Create(x.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.NewSecrets(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	x.home = h
	put(t, x.dir, "store/jetstream/x", "")
	put(t, x.dir, "store/clean.json", "{}")
	return x.dir
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHomesBecomeFindings(t *testing.T) {
	const hash = "4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1fe07b"
	other := strings.Repeat("0", len(hash))
	head := func(sequence int, hash string) string {
		return fmt.Sprintf(`{"sequence":%d,"hash":%q}`, sequence, hash)
	}
	backup := func(x *examination, age time.Duration, suffix string) string {
		key, err := x.home.BackupSigner()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("home-backups/maestro-%x-%s-1-4c1f4c1f%s.tar.gz", []byte(key)[:8],
			time.Now().Add(-age).UTC().Format("20060102T150405Z"), suffix)
	}
	for name, c := range map[string]struct {
		spoil func(x *examination)
		look  func(context.Context, *examination) []Finding
		want  *Kind
	}{
		"a good home":  {func(*examination) {}, lookAtHome, nil},
		"a good store": {func(*examination) {}, lookAtStore, nil},
		"not closed": {
			func(x *examination) { _ = os.Remove(filepath.Join(x.dir, "store", "clean.json")) }, lookAtStore,
			storeUnclean,
		},
		"a newer home": {
			func(x *examination) {
				put(t, x.dir, "version", `{"maestro":"v99.0.0","home":99,"rules":99,"snapshot":99}`)
			},
			lookAtHome, homeNewer,
		},
		"a directory as a file": {
			func(x *examination) { put(t, x.dir, "listened/x", "") }, lookAtHome, homeUnusable,
		},
		"the head of the log": {func(x *examination) { put(t, x.dir, "head", head(5, hash)) }, lookAtHead, nil},
		"a shorter log":       {func(x *examination) { put(t, x.dir, "head", head(6, hash)) }, lookAtHead, headAhead},
		"another event":       {func(x *examination) { put(t, x.dir, "head", head(5, other)) }, lookAtHead, headAhead},
		"no leftovers":        {func(*examination) {}, lookAtLeftovers, nil},
		"a killed restore": {
			func(x *examination) { put(t, x.dir, ".store.restore-12345/x", "") }, lookAtLeftovers, leftovers,
		},
		"a killed salvage": {
			func(x *examination) { put(t, x.dir, "../.home.salvage-12345/x", "") }, lookAtLeftovers, leftovers,
		},
		"no backup yet": {func(*examination) {}, lookAtBackups, nil},
		"no backup": {
			func(x *examination) { x.Wall = func() time.Time { return time.Now().Add(72 * time.Hour) } },
			lookAtBackups, backupMissing,
		},
		"a backup": {
			func(x *examination) { put(t, filepath.Dir(x.dir), backup(x, time.Hour, ""), "") }, lookAtBackups, nil,
		},
		"a partial backup": {
			func(x *examination) { put(t, filepath.Dir(x.dir), backup(x, time.Hour, "-partial"), "") },
			lookAtBackups, backupPartial,
		},
		"an old backup of the same log": {
			func(x *examination) { put(t, filepath.Dir(x.dir), backup(x, 72*time.Hour, ""), "") }, lookAtBackups, nil,
		},
		"an old backup": {
			func(x *examination) {
				put(t, filepath.Dir(x.dir), backup(x, 72*time.Hour, ""), "")
				put(t, x.dir, "head", head(5, hash))
			}, lookAtBackups, backupOld,
		},
	} {
		x := examined(t, answers{"/api/audit/head": head(5, hash)})
		madeHome(t, x)
		x.figures = figures{}
		c.spoil(x)
		finds(t, name, x, c.look, c.want)
	}
}
