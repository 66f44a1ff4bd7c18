package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/client"
	"maestro/internal/testing/standin"
)

// pipes is a transport whose connections a handler serves without a network.
func pipes(handler http.Handler) *http.Transport {
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		for reader := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(r.Body)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, r)
			answer := recorder.Result()
			answer.ContentLength = int64(recorder.Body.Len())
			if len(body) > 0 {
				answer.Header.Set("Request", string(body))
			}
			if answer.Write(conn) != nil {
				return
			}
		}
	}
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}}
}

// TestIdentityOfBusyServerIsRetried: while a server has no time to say who it is, a call waits as it does after any
// 429. It has sent nothing, and says so when its patience is over.
func TestIdentityOfBusyServerIsRetried(t *testing.T) {
	const says = `{"error":true,"code":"RATE_LIMITED","message":"too many","details":{"limit":"address-identities"}}`
	type ends int
	const (
		well ends = iota
		busy
		strange
	)
	for name, c := range map[string]struct {
		status, times    int
		retryAfter, body string
		asked            int
		took             time.Duration
		ends             ends
	}{
		"429 once":    {429, 1, "3", says, 2, 3 * time.Second, well},
		"503 once":    {503, 1, "3", says, 2, 3 * time.Second, well},
		"too often":   {429, 99, "5", says, 5, 20 * time.Second, busy},
		"too long":    {429, 1, "60", says, 1, 0, busy},
		"says not":    {503, 1, "", says, 1, 0, busy},
		"another 429": {429, 1, "3", "no", 1, 0, strange},
		"another 503": {503, 1, "3", "no", 1, 0, strange},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const token = "mss_s.1.x"
				asked, done, waited := 0, 0, ""
				known := standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
					done++
					_, _ = io.WriteString(w, `{"sequence":7,"event":null}`)
				}, token)
				transport := pipes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/identity" {
						if asked++; asked <= c.times {
							if c.retryAfter != "" {
								w.Header().Set("Retry-After", c.retryAfter)
							}
							w.WriteHeader(c.status)
							_, _ = io.WriteString(w, c.body)
							return
						}
					}
					known.ServeHTTP(w, r)
				}))
				began := time.Now()
				caller := client.New("http://x", token, client.WithTransport(transport), client.WithIdentification(),
					client.WithWaiting(func(limit string, _ time.Duration) { waited = limit }))
				_, err := caller.Do(t.Context(), "report:progress", nil, client.Options{Key: "k"})
				caller.Close()
				var notNow *client.BusyError
				var stranger *client.StrangerError
				if errors.As(err, &notNow) != (c.ends == busy) || errors.As(err, &stranger) != (c.ends == strange) ||
					(err == nil) != (c.ends == well) {
					t.Errorf("it fails with %v", err)
				}
				took := time.Since(began)
				if (done == 1) != (c.ends == well) || asked != c.asked || took != c.took {
					t.Errorf("asked %d times and sent %d in %s, want %d in %s", asked, done, took, c.asked, c.took)
				}
				if (c.took > 0) != (waited == "address-identities") {
					t.Errorf("it reports that it waits for %q", waited)
				}
				synctest.Wait()
			})
		})
	}
}
