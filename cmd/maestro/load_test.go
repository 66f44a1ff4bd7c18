package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/api/client"
)

var (
	loadFor    = flag.Duration("load", 3*time.Second, "how long hostile sessions try to stop the server for others")
	loadMemory = flag.Int64("load-memory", 4096, "MiB that the server may take; the race detector multiplies them")
	loadRatio  = flag.Float64("load-ratio", 0, "how many times the idle p99 the one under attack may be; 0: any")
)

const (
	honestWorkers = 30
	// honestEvery is how often a worker reports: an agent that uses the CLI does not come to that.
	honestEvery = 250 * time.Millisecond
	// loadSlice is how long the attack goes on until the workers are alone again for as long.
	loadSlice = 30 * time.Second
)

// load is a server with honest workers and hostile sessions.
type load struct {
	*killed
	project string
	hostile atomic.Bool
	// refused is closed when the first hostile call is refused for a limit.
	refused chan struct{}
	once    sync.Once

	mu       sync.Mutex
	idle     latencies
	attacked latencies
	answers  map[string]map[int]int // of the hostile sessions, by attack and status
	sessions map[string]loadSession // by task
}

// TestHostileSessionsStopNobody lets five sessions do everything that has stopped the server before, all at once,
// while thirty workers report. No honest call may be refused or fail, the hostile ones must be, and the server's
// memory must stay bounded. How long honest calls take is printed; `make soak` asserts it, with -load 5m -load-ratio
// 2.
func TestHostileSessionsStopNobody(t *testing.T) {
	l := &load{
		killed:   &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}},
		answers:  map[string]map[int]int{},
		sessions: map[string]loadSession{},
		refused:  make(chan struct{}),
	}
	l.start()
	defer func() { _ = l.process.Process.Kill(); _ = l.process.Wait() }()
	admin := l.admin()
	defer admin.Close()
	project, _ := l.made(admin, "project:create", map[string]any{"name": "Load"})
	l.project = project["projectId"].(string)
	var workers, attackers []reporter
	for i := range honestWorkers {
		workers = append(workers, l.worker(admin, fmt.Sprint("worker ", i)))
	}
	for i := range 5 {
		attackers = append(attackers, l.worker(admin, fmt.Sprint("hostile ", i)))
	}

	working, stopWork := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() { l.work(working, w, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	all.Go(func() { l.probe(working, file) })
	all.Go(func() { l.probeTimers(working) })
	var hostile []*attacker
	for _, a := range attackers {
		hostile = append(hostile, l.attacker(a))
	}
	// A shared machine stalls at times, more in one minute than in the next. Idle and attacked minutes alternate, so
	// that both meet the same machine.
	for left := *loadFor; left > 0; left -= loadSlice {
		slice := min(left, loadSlice)
		l.pass(slice)
		l.attack(t.Context(), hostile, slice)
	}
	for range 10 { // a slow machine needs longer to come to a limit
		select {
		case <-l.refused:
		default:
			l.attack(t.Context(), hostile, loadSlice)
		}
	}
	stopWork()
	all.Wait()
	l.judgeLoad(admin)
}

// pass lets time pass: what is measured is a rate.
func (l *load) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.t.Context().Done():
	}
}

// latencies are how long things took in one part of the test: honest calls, and beside them one write and fsync of a
// file on the same disk, and how late a timer of 5 ms was. The last two tell how much of the first is the machine's.
type latencies struct {
	calls, syncs, late []time.Duration
}

func (l latencies) String() string {
	var b strings.Builder
	for _, of := range []struct {
		name  string
		times []time.Duration
	}{{"honest calls", l.calls}, {"fsyncs alone", l.syncs}, {"timers, how late", l.late}} {
		fmt.Fprintf(&b, "\n    %d %s: p50 %s, p90 %s, p99 %s, longest %s", len(of.times), of.name,
			quantile(of.times, 0.5), quantile(of.times, 0.9), p99(of.times), quantile(of.times, 1))
	}
	return b.String()
}

// loadSession is a session with its secret and its task.
type loadSession struct {
	id, token, task string
}

func (l *load) worker(admin *client.Client, name string) reporter {
	l.t.Helper()
	task, _ := l.made(admin, "task:create", map[string]any{"project": l.project, "title": name})
	id := task["taskId"].(string)
	spawn := map[string]any{"project": l.project, "taskIds": []any{id}, "name": name}
	spawned, answer := l.made(admin, "session:spawn", spawn)
	l.sessions[id] = loadSession{spawned["sessionId"].(string), answer.Token, id}
	return reporter{client.New(l.address, answer.Token, client.WithPatience(0)), id}
}

// work reports, and now and then reads its task, as an agent does.
func (l *load) work(ctx context.Context, w reporter, random *rand.Rand) {
	defer w.client.Close()
	for n := 0; ; n++ {
		select {
		case <-time.After(honestEvery/2 + time.Duration(random.Int64N(int64(honestEvery)))):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		var err error
		what := "a report"
		if n%4 == 3 {
			what = "reading a task"
			_, err = w.client.Task(ctx, w.task)
		} else {
			body := map[string]any{"message": fmt.Sprint("step ", n), "taskIds": []string{w.task}}
			_, err = w.client.Do(ctx, "report:progress", body, client.Options{})
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.t.Errorf("an honest call failed: %s: %v", what, err)
			return
		}
		l.took(time.Since(began))
	}
}

func (l *load) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	now.calls = append(now.calls, d)
}

// now gives what is measured at present; mu is held.
func (l *load) now() *latencies {
	if l.hostile.Load() {
		return &l.attacked
	}
	return &l.idle
}

// probe measures what one durable write of the size of an event costs on this disk, without a server.
func (l *load) probe(ctx context.Context, file *os.File) {
	event := make([]byte, 450)
	for {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if _, err := file.Write(event); err != nil {
			l.t.Errorf("the probe of the disk: %v", err)
			return
		}
		if err := file.Sync(); err != nil {
			l.t.Errorf("the probe of the disk: %v", err)
			return
		}
		took := time.Since(began)
		l.mu.Lock()
		now := l.now()
		now.syncs = append(now.syncs, took)
		l.mu.Unlock()
	}
}

// probeTimers measures how late timers are: the server waits no less for a processor than this test does.
func (l *load) probeTimers(ctx context.Context) {
	const pause = 5 * time.Millisecond
	for {
		began := time.Now()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		late := time.Since(began) - pause
		l.mu.Lock()
		now := l.now()
		now.late = append(now.late, late)
		l.mu.Unlock()
	}
}

// attack lets the hostile sessions do all that they can, all at once, for so long.
func (l *load) attack(ctx context.Context, hostile []*attacker, d time.Duration) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.hostile.Store(true)
	defer l.hostile.Store(false)
	var all sync.WaitGroup
	for _, h := range hostile {
		all.Go(func() { h.attack(ctx) })
	}
	l.pass(d)
	stop()
	all.Wait()
}

func (l *load) attacker(w reporter) *attacker {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	l.t.Cleanup(transport.CloseIdleConnections)
	return &attacker{load: l, session: l.sessions[w.task], http: &http.Client{Transport: transport}}
}

// attack does all that one session can, until ctx ends.
func (h *attacker) attack(ctx context.Context) {
	var all sync.WaitGroup
	for name, a := range map[string]struct {
		at  int // so many at once
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
	*load
	session loadSession
	http    *http.Client
	made    atomic.Int64
	last    atomic.Pointer[string]
	mu      sync.Mutex
	chained []string
}

// ask sends a request and gives the answer's body.
func (h *attacker) ask(ctx context.Context, method, path string, body []byte, header ...string) []byte {
	req, err := http.NewRequestWithContext(ctx, method, h.address+path, bytes.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return nil
	}
	req.Header.Set("Authorization", "Bearer "+h.session.token)
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
	if status == http.StatusTooManyRequests {
		h.once.Do(func() { close(h.refused) })
	}
	name, _ := ctx.Value(attackKey{}).(string)
	h.load.mu.Lock()
	defer h.load.mu.Unlock()
	if h.answers[name] == nil {
		h.answers[name] = map[int]int{}
	}
	h.answers[name][status]++
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

// chain makes tasks each of which waits for the one before.
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

// dryRuns asks what a task with 999 dependencies would be.
func (h *attacker) dryRuns(ctx context.Context) {
	h.mu.Lock()
	depends, err := json.Marshal(h.chained)
	h.mu.Unlock()
	if err != nil {
		h.t.Error(err)
	}
	body := []byte(`{"title":"wide","dependencies":` + string(depends) + `}`)
	h.ask(ctx, http.MethodPost, "/api/commands/task:create?dryRun=true", body)
}

// unread asks for all that the session said and reads nothing of it.
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
	_, _ = fmt.Fprintf(c, request, h.session.id, h.session.token)
	first := make([]byte, len("HTTP/1.1 200"))
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
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

// refusals brings kept commands that are refused, with long texts.
func (h *attacker) refusals(ctx context.Context) {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	body := fmt.Sprintf(`{"message":%q,"taskIds":["task_none"]}`, strings.Repeat("r", 60_000)+fmt.Sprint(h.made.Add(1)))
	h.ask(ctx, http.MethodPost, "/api/commands/report:progress", []byte(body), "Maestro-Occurred-At", at)
}

// reports says as much as it can, a third of it long.
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

// judgeLoad prints the figures, and holds them against what must be.
func (l *load) judgeLoad(admin *client.Client) {
	l.t.Helper()
	memory := l.peak()
	ratio := float64(p99(l.attacked.calls)) / float64(p99(l.idle.calls))
	l.t.Log("idle:", l.idle)
	l.t.Log("under attack:", l.attacked)
	l.t.Logf("the p99 under attack is %.2f times the idle one", ratio)
	l.t.Logf("the server's peak resident memory: %d MiB", memory>>20)
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(l.answers)) {
		l.t.Logf("%-30s %v", name, l.answers[name])
		refused += l.answers[name][http.StatusTooManyRequests]
	}
	limits, err := admin.Limits(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, limit := range limits {
		if limit.Refused > 0 {
			l.t.Logf("%-20s refused %d", limit.Name, limit.Refused)
		}
	}
	if refused == 0 {
		l.t.Error("no hostile call was refused")
	}
	if memory>>20 > *loadMemory {
		l.t.Errorf("the server took %d MiB, of at most %d", memory>>20, *loadMemory)
	}
	if *loadRatio > 0 && ratio > *loadRatio {
		l.t.Errorf("that is more than %.1f times", *loadRatio)
	}
}

func p99(calls []time.Duration) time.Duration { return quantile(calls, 0.99) }

func quantile(calls []time.Duration, q float64) time.Duration {
	if len(calls) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(calls))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*q))]
}

// peak gives the most memory that the server held at a time, in bytes; 0 where the system does not say.
func (l *load) peak() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.process.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10
}
