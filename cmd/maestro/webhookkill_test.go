package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"maestro/api/client"
)

// received is a webhook's receiver that fails now and then.
type received struct {
	mu       sync.Mutex
	subjects map[string][]string // the ids that it accepted, by subject, each once
	seen     map[string]bool
	news     chan struct{}
}

func (r *received) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var event struct{ ID, Subject string }
	if err != nil || json.Unmarshal(body, &event) != nil || event.ID != req.Header.Get("Webhook-Id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if rand.IntN(50) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !r.seen[event.ID] {
		r.seen[event.ID] = true
		r.subjects[event.Subject] = append(r.subjects[event.Subject], event.ID)
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// TestWebhookSurvivesKills kills the real server with -9 under load: its webhook's receiver gets every event at least
// once, and those of a subject in the order of the log.
func TestWebhookSurvivesKills(t *testing.T) {
	t.Parallel()
	r := &received{subjects: map[string][]string{}, seen: map[string]bool{}, news: make(chan struct{}, 1)}
	receiver := httptest.NewServer(r)
	defer receiver.Close()
	k := &killed{
		t:       t,
		home:    filepath.Join(t.TempDir(), "home"),
		acked:   map[string]client.Answer{},
		options: []string{"--allow-webhooks-to", "127.0.0.0/8"},
	}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	_, made := k.made(k.admin(), "webhook:create", map[string]any{"url": receiver.URL})
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i, session := range k.sessions() {
		all.Go(func() { k.report(session, fmt.Sprint("s", i), stop) })
	}
	for range *killRounds {
		k.waitFor(k.count.Load() + 200)
		k.restart(func() {})
	}
	k.waitFor(k.count.Load() + 200)
	close(stop)
	all.Wait()
	_, _, at := k.verdicts(k.admin())
	want := map[string]uint64{}
	for id, places := range at {
		if places[0] > made.Sequence {
			want[id] = places[0]
		}
	}
	deadline := time.After(2 * time.Minute)
	for r.missing(want) > 0 {
		select {
		case <-r.news:
		case <-deadline:
			t.Fatalf("the receiver misses %d of %d events\n%s", r.missing(want), len(want), k.stderr.String())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for subject, ids := range r.subjects {
		for i := 1; i < len(ids); i++ {
			if want[ids[i-1]] >= want[ids[i]] {
				t.Errorf("%s: event %d came before event %d", subject, want[ids[i-1]], want[ids[i]])
			}
		}
	}
	t.Logf("%d events, %d subjects, killed %d times", len(want), len(r.subjects), *killRounds)
}

// missing counts the events that it has not accepted.
func (r *received) missing(want map[string]uint64) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range want {
		if !r.seen[id] {
			n++
		}
	}
	return n
}
