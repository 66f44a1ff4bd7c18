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

// TestABusyServerIsAskedAgainWhoItIs: while a server has no time to say who it is, a call waits as it does after any
// 429. It has sent nothing, and says so when its patience is over.
func TestABusyServerIsAskedAgainWhoItIs(t *testing.T) {
	const says = `{"error":true,"code":"RATE_LIMITED","message":"too many","details":{"limit":"address-identities"}}`
	for name, c := range map[string]struct {
		status, times int
		retryAfter    string
		body          string
		asked         int
		took          time.Duration
		fails         bool
		stranger      bool
	}{
		"429 once":    {status: 429, times: 1, retryAfter: "3", body: says, asked: 2, took: 3 * time.Second},
		"503 once":    {status: 503, times: 1, retryAfter: "3", body: says, asked: 2, took: 3 * time.Second},
		"too often":   {status: 429, times: 99, retryAfter: "5", body: says, asked: 5, took: 20 * time.Second, fails: true},
		"too long":    {status: 429, times: 1, retryAfter: "60", body: says, asked: 1, fails: true},
		"says not":    {status: 503, times: 1, body: says, asked: 1, fails: true},
		"another 429": {status: 429, times: 1, retryAfter: "3", body: "no", asked: 1, stranger: true},
		"another 503": {status: 503, times: 1, retryAfter: "3", body: "no", asked: 1, stranger: true},
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
				var busy *client.BusyError
				var stranger *client.StrangerError
				if errors.As(err, &busy) != c.fails || errors.As(err, &stranger) != c.stranger ||
					(err == nil) == (c.fails || c.stranger) {
					t.Errorf("it fails with %v", err)
				}
				if want := 1; (done == want) != (err == nil) || asked != c.asked || time.Since(began) != c.took {
					t.Errorf("asked %d times and sent %d in %s, want %d in %s", asked, done, time.Since(began), c.asked,
						c.took)
				}
				if (c.took > 0) != (waited == "address-identities") {
					t.Errorf("it tells of waiting for %q", waited)
				}
				synctest.Wait()
			})
		})
	}
}
