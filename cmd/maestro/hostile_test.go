package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/service/wire"
)

// hostileAnswers counts the answers of the hostile sessions, by attack and status; 0 is no answer.
type hostileAnswers map[string]map[int]int

func (a hostileAnswers) add(name string, status, n int) {
	if a[name] == nil {
		a[name] = map[int]int{}
	}
	a[name][status] += n
}

// attackers is the process of the hostile sessions: in the process of the honest sessions they would slow these down.
type attackers struct {
	orders  *json.Encoder
	answers *json.Decoder
}

// hostileOrders are the first message to the process of the hostile sessions.
type hostileOrders struct {
	Address  string
	Sessions []loadSession
}

func startAttackers(t *testing.T, address string, sessions []loadSession) *attackers {
	t.Helper()
	program := exec.Command("hostile") // testscript put it on the path
	if nice, err := exec.LookPath("nice"); err == nil {
		// The test measures what the server does for them, not how much of a small machine they take themselves.
		program = exec.Command(nice, "-n", "19", "hostile")
	}
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := program.Wait(); err != nil {
			t.Errorf("the process of the hostile sessions: %v", err)
		}
	})
	a := &attackers{json.NewEncoder(in), json.NewDecoder(out)}
	if err := a.orders.Encode(hostileOrders{address, sessions}); err != nil {
		t.Fatal(err)
	}
	return a
}

// attack lets all hostile sessions attack for this long, and returns their answers since they were started.
func (a *attackers) attack(t *testing.T, d time.Duration) (answers hostileAnswers) {
	t.Helper()
	if err := a.orders.Encode(d); err != nil {
		t.Fatal(err)
	}
	if err := a.answers.Decode(&answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// hostile is the program of the hostile sessions.
func hostile() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var orders hostileOrders
	if err := in.Decode(&orders); err != nil {
		panic(err)
	}
	var all []*attacker
	for _, session := range orders.Sessions {
		all = append(all, &attacker{
			address: orders.Address,
			session: session,
			http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
			answers: hostileAnswers{},
		})
	}
	for {
		var d time.Duration
		if in.Decode(&d) != nil { // the test has ended
			return
		}
		ctx, stop := context.WithTimeout(context.Background(), d)
		var attacking sync.WaitGroup
		for _, h := range all {
			attacking.Go(func() { h.attack(ctx) })
		}
		attacking.Wait()
		stop()
		sum := hostileAnswers{}
		for _, h := range all {
			for name, answers := range h.answers {
				for status, n := range answers {
					sum.add(name, status, n)
				}
			}
		}
		if err := out.Encode(sum); err != nil {
			panic(err)
		}
	}
}

// attack does everything that a session can do, until ctx ends.
func (h *attacker) attack(ctx context.Context) {
	var all sync.WaitGroup
	for name, a := range map[string]struct {
		at  int // this many at once
		run func(ctx context.Context)
	}{
		"B1 bodies of 100,000 names":   {2, h.names},
		"B2 chains of dependencies":    {1, h.chain},
		"B2 dry runs":                  {2, h.dryRuns},
		"B3 answers that nobody reads": {50, h.unread},
		"B4 kept refusals":             {4, h.refusals},
		"B5 reports":                   {64, h.reports},
		"B5 waits":                     {32, h.waits},
		"B5 bad tokens":                {8, h.badTokens},
		"B5 questions":                 {2, h.questions},
	} {
		for range a.at {
			all.Go(func() {
				own := context.WithValue(ctx, attackKey{}, name)
				for own.Err() == nil {
					a.run(own)
				}
			})
		}
	}
	all.Wait()
}

type attackKey struct{}

// attacker is a hostile session.
type attacker struct {
	address string
	session loadSession
	http    *http.Client
	made    atomic.Int64
	last    atomic.Pointer[string]
	mu      sync.Mutex
	chained []string
	answers hostileAnswers
}

// ask sends a request and returns the answer's body.
func (h *attacker) ask(ctx context.Context, method, path string, body []byte, header ...string) []byte {
	req, err := http.NewRequestWithContext(ctx, method, h.address+path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.session.Token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.http.Do(req)
	status, answer := 0, []byte(nil)
	if err == nil {
		status = resp.StatusCode
		answer, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	h.count(ctx, status)
	return answer
}

func (h *attacker) count(ctx context.Context, status int) {
	if ctx.Err() != nil {
		return
	}
	name, _ := ctx.Value(attackKey{}).(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers.add(name, status, 1)
}

// manyNames is a body of nearly 1 MB with 100,000 names in one object.
var manyNames = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"progress","message":"m","data":{`)
	for i := range 100_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%x":1`, i)
	}
	b.WriteString(`}}`)
	return b.Bytes()
})

func (h *attacker) names(ctx context.Context) {
	h.ask(ctx, http.MethodPost, "/api/commands/session:note", manyNames())
}

// chain creates tasks, each of which depends on the one before.
func (h *attacker) chain(ctx context.Context) {
	depends := "[]"
	if last := h.last.Load(); last != nil {
		depends = `["` + *last + `"]`
	}
	body := []byte(`{"title":"link","dependencies":` + depends + `}`)
	answer := h.ask(ctx, http.MethodPost, "/api/commands/task:create", body)
	var said struct {
		Event struct {
			Data struct {
				TaskID string `json:"taskId"`
			} `json:"data"`
		} `json:"event"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Event.Data.TaskID != "" {
		id := said.Event.Data.TaskID
		h.last.Store(&id)
		h.mu.Lock()
		if h.chained = append(h.chained, id); len(h.chained) > 999 {
			h.chained = h.chained[1:]
		}
		h.mu.Unlock()
	}
}

// dryRuns requests a dry run of a task with 999 dependencies.
func (h *attacker) dryRuns(ctx context.Context) {
	h.mu.Lock()
	depends, err := json.Marshal(h.chained)
	h.mu.Unlock()
	if err != nil {
		panic(err)
	}
	body := []byte(`{"title":"wide","dependencies":` + string(depends) + `}`)
	h.ask(ctx, http.MethodPost, "/api/commands/task:create?dryRun=true", body)
}

// unread requests all reports of the session and reads nothing of the answer.
func (h *attacker) unread(ctx context.Context) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(h.address, "http://"))
	if err != nil {
		h.count(ctx, 0)
		return
	}
	defer func() { _ = c.Close() }()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	const request = "GET /api/sessions/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n"
	_, _ = fmt.Fprintf(c, request, h.session.ID, h.session.Token)
	first := make([]byte, len("HTTP/1.1 200"))
	_ = c.SetReadDeadline(time.Now().Add(longestWait))
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	if _, err := io.ReadFull(c, first); err != nil {
		h.count(ctx, 0)
		return
	}
	status, _ := strconv.Atoi(string(first[len(first)-3:]))
	h.count(ctx, status)
	if status != http.StatusOK {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
	}
}

// refusals sends kept commands with long texts, which are refused.
func (h *attacker) refusals(ctx context.Context) {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	body := fmt.Sprintf(`{"message":%q,"taskIds":["task_none"]}`, strings.Repeat("r", 60_000)+fmt.Sprint(h.made.Add(1)))
	h.ask(ctx, http.MethodPost, "/api/commands/report:progress", []byte(body), wire.HeaderOccurredAt, at)
}

// reports reports as much as it can; a third of the reports are long.
func (h *attacker) reports(ctx context.Context) {
	n := h.made.Add(1)
	message := fmt.Sprint("m", n)
	if n%3 == 0 {
		message = strings.Repeat("x", 60_000)
	}
	h.ask(ctx, http.MethodPost, "/api/commands/report:progress", fmt.Appendf(nil, `{"message":%q}`, message))
}

func (h *attacker) waits(ctx context.Context) {
	h.ask(ctx, http.MethodGet, "/api/whoami?minSeq=1000000000&wait=25s", nil)
}

func (h *attacker) badTokens(ctx context.Context) {
	h.ask(ctx, http.MethodGet, "/api/projects", nil, "Authorization", "Bearer mss_x.1.x")
}

func (h *attacker) questions(ctx context.Context) {
	h.ask(ctx, http.MethodPost, "/api/commands/report:needs-input", []byte(`{"message":"what?"}`))
}
