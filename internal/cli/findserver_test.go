package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/internal/home"
	"maestro/internal/testing/standin"
	"maestro/service/wire"
)

// heldHome is a home whose server's lock this process holds, with the user's token.
func heldHome(t *testing.T) (lock *home.Lock, token string) {
	t.Helper()
	h, err := home.Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if lock, err = h.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release(); _ = h.Close() })
	secrets, err := lock.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	return lock, secrets.AdminToken
}

func announce(t *testing.T, lock *home.Lock, address string) {
	t.Helper()
	if err := lock.Announce(home.Server{Address: address, PID: os.Getpid()}); err != nil {
		t.Error(err)
	}
}

// pauses replaces the pauses of callers that wait for a server: before each pause it calls happens.
func pauses(t *testing.T, happens func(n int)) (count func() int) {
	t.Helper()
	n := 0
	pauseFor = func(time.Duration) <-chan time.Time {
		n++
		happens(n)
		over := make(chan time.Time)
		close(over)
		return over
	}
	t.Cleanup(func() { pauseFor = time.After })
	return func() int { return n }
}

const anIdentity = `{"actor":"admin","kind":"user","role":"user","authn":"token"}`

func TestWaitsForAServerThatStarts(t *testing.T) {
	lock, token := heldHome(t)
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(anIdentity))
	}, token))
	defer server.Close()
	count := pauses(t, func(n int) {
		if n == 200 { // 4 s
			announce(t, lock, server.URL)
		}
	})
	env := map[string]string{"MAESTRO_HOME": lock.Dir()}
	if got := runHere(t, env, "whoami"); got.code != ExitDone || count() != 200 {
		t.Errorf("after %d pauses: %+v", count(), got)
	}
	// An address left behind by a killed server is not taken for that of the one that starts now.
	if err := lock.Announce(home.Server{Address: "http://127.0.0.1:1", PID: os.Getpid() + 1}); err != nil {
		t.Fatal(err)
	}
	count = pauses(t, func(n int) {
		if n == 3 {
			announce(t, lock, server.URL)
		}
	})
	if got := runHere(t, env, "whoami"); got.code != ExitDone || count() != 3 {
		t.Errorf("with the address of a killed server, after %d pauses: %+v", count(), got)
	}
}

func TestWaitsOnlySoLong(t *testing.T) {
	lock, _ := heldHome(t)
	count := pauses(t, func(int) {})
	got := runHere(t, map[string]string{"MAESTRO_HOME": lock.Dir()}, "whoami")
	if got.code != ExitNoConnection || count() != int(startsWithin/lookEvery) ||
		!strings.Contains(got.stderr, "starting or stopping") {
		t.Errorf("a server that does not become ready, after %d pauses: %+v", count(), got)
	}
	count = pauses(t, func(int) {})
	none := map[string]string{"MAESTRO_HOME": filepath.Join(t.TempDir(), "none")}
	if runHere(t, none, "project", "list"); count() != int(takesWithin/lookEvery) {
		t.Errorf("without a server: %d pauses", count())
	}
	count = pauses(t, func(int) {})
	none["MAESTRO_SESSION_ID"], none["MAESTRO_TOKEN"] = "s", "mss_s.1.x"
	if runHere(t, none, "report", "progress", "x"); count() != 0 {
		t.Errorf("a session whose report can be kept: %d pauses", count())
	}
}

// A session whose server is no longer at its address uses the server of its home, if that server knows the session's
// secret.
func TestSessionsFindTheHomesServer(t *testing.T) {
	lock, _ := heldHome(t)
	asked := 0
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(anIdentity))
	}, "mss_s.1.x"))
	defer server.Close()
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	another := httptest.NewServer(standin.Identified(func(http.ResponseWriter, *http.Request) {
		t.Error("the secret went to a server that does not know it")
	}))
	defer another.Close()
	announce(t, lock, server.URL)
	for _, dead := range []string{"http://127.0.0.1:1", stranger.URL, another.URL} {
		asked = 0
		got := runHere(t, map[string]string{
			"MAESTRO_HOME":       lock.Dir(),
			"MAESTRO_API_URL":    dead,
			"MAESTRO_SESSION_ID": "s",
			"MAESTRO_TOKEN":      "mss_s.1.x",
		}, "whoami")
		if got.code != ExitDone || asked != 1 || !strings.Contains(got.stdout, server.URL) {
			t.Errorf("%s is gone: %+v", dead, got)
		}
		// The server does not know another session's secret.
		got = runHere(t, map[string]string{
			"MAESTRO_HOME":       lock.Dir(),
			"MAESTRO_API_URL":    dead,
			"MAESTRO_SESSION_ID": "s",
			"MAESTRO_TOKEN":      "mss_s.2.other",
		}, "whoami")
		if got.code == ExitDone || asked != 1 {
			t.Errorf("%s is gone, and the secret is another session's: %+v", dead, got)
		}
		// A user's command uses only the address that the user named.
		got = runHere(t, map[string]string{"MAESTRO_HOME": lock.Dir(), "MAESTRO_API_URL": dead}, "whoami")
		if got.code == ExitDone || asked != 1 {
			t.Errorf("a user's command, and %s is gone: %+v", dead, got)
		}
	}
}

// seen is what a program other than Maestro receives.
type seen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *seen) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text)
}

// strangers are programs that listen where a Maestro server is expected.
func strangers(t *testing.T, saw *seen) map[string]string {
	t.Helper()
	web := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			saw.add(r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + "\n")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			saw.add(line)
			_, _ = conn.Write([]byte("220 mail.example.org ESMTP\r\n"))
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); talks.Wait() })
	other, err := json.Marshal(wire.Identity{Product: wire.Product, Proof: "guessed"})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"a page":          web(http.StatusOK, "<html>"),
		"JSON":            web(http.StatusOK, `{"sequence":1,"event":null}`),
		"nothing there":   web(http.StatusNotFound, "not found"),
		"a redirect":      web(http.StatusTemporaryRedirect, ""),
		"a mail server":   "http://" + listener.Addr().String(),
		"another Maestro": web(http.StatusOK, string(other)),
	}
}

// A program that is not the expected Maestro server receives nothing but the request to identify itself.
func TestUnknownServersGetNothing(t *testing.T) {
	saw := &seen{}
	for name, address := range strangers(t, saw) {
		lock, token := heldHome(t)
		announce(t, lock, address)
		for caller, env := range map[string]map[string]string{
			"the user":          {"MAESTRO_HOME": lock.Dir()},
			"the user, by name": {"MAESTRO_HOME": lock.Dir(), "MAESTRO_API_URL": address},
			"a session": {
				"MAESTRO_HOME": lock.Dir(), "MAESTRO_API_URL": address, "MAESTRO_TOKEN": "mss_s.1.secret",
				"MAESTRO_SESSION_ID": "s",
			},
		} {
			got := runHere(t, env, "project", "create", "A secret plan")
			want := ExitNoConnection
			if name == "another Maestro" {
				want = ExitNotAllowed
			}
			if got.code != want {
				t.Errorf("%s at %s: %+v", caller, name, got)
			}
			saw.mu.Lock()
			for line := range strings.Lines(saw.text.String()) {
				path, _, _ := strings.Cut(line, "?")
				if path = strings.TrimSpace(path); path != "GET /identity" || strings.Contains(line, token) ||
					strings.Contains(line, "secret") {
					t.Errorf("%s at %s: it received %q", caller, name, line)
				}
			}
			saw.text.Reset()
			saw.mu.Unlock()
		}
	}
}

func TestAwaitServerEndsWithItsContext(t *testing.T) {
	lock, _ := heldHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	pauseFor = func(time.Duration) <-chan time.Time { cancel(); return nil }
	t.Cleanup(func() { pauseFor = time.After })
	(&Run{Env: map[string]string{}}).awaitServer(ctx, lock.Dir())
	if ctx.Err() == nil {
		t.Error("it did not wait")
	}
}
