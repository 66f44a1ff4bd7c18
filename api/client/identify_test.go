package client_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/client"
	"maestro/internal/testing/standin"
	"maestro/service/wire"
)

// TestIdentityIsAskedOncePerCall: the call that follows Identify uses the connection on which the server has
// identified itself, unless it comes so late that the server may have closed it, or goes to another address.
func TestIdentityIsAskedOncePerCall(t *testing.T) {
	const token = "mss_sess_0123456789.1.secret"
	for name, c := range map[string]struct {
		meanwhile func(*client.Client)
		asked     []string
	}{
		"at once": {func(*client.Client) {}, []string{wire.IdentityPath, "/api/whoami"}},
		"later": {
			func(*client.Client) { time.Sleep(time.Minute) },
			[]string{wire.IdentityPath, wire.IdentityPath, "/api/whoami"},
		},
		"at another address": {
			func(c *client.Client) { c.Move("http://y") },
			[]string{wire.IdentityPath, wire.IdentityPath, "/api/whoami"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				server := standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write([]byte("{}"))
				}, token)
				transport := pipes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked = append(asked, r.URL.Path)
					server.ServeHTTP(w, r)
				}))
				caller := client.New("http://x", token, client.WithTransport(transport), client.WithIdentification())
				if err := caller.Identify(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.meanwhile(caller)
				if _, err := caller.Whoami(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(asked, c.asked) {
					t.Errorf("the server was asked %v, want %v", asked, c.asked)
				}
				if err := caller.Identify(t.Context()); err != nil {
					t.Fatal(err)
				}
				caller.Close()
				synctest.Wait() // a connection that stays open keeps a goroutine, and the test does not end
			})
		})
	}
}
