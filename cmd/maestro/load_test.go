package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
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
	// honestEvery is the time between two reports of a worker, less than that of an agent that uses the command line.
	honestEvery = 250 * time.Millisecond
	// loadSlices is how many attacks there are. Each is long, because it begins and ends with all hostile calls at
	// once.
	loadSlices = 2
	// slowSlice is how long a further attack lasts if no limit was reached.
	slowSlice = 30 * time.Second
)

// load is a server with honest workers and hostile sessions.
type load struct {
	*killed
	project   string
	hostile   atomic.Bool
	attackers *attackers
	answers   hostileAnswers

	mu       sync.Mutex
	idle     latencies
	attacked latencies
	sessions map[string]loadSession // by task
}

// TestHostileSessionsStopNobody has five sessions attack the server concurrently in every known way, while thirty
// workers report. No honest call may be refused or fail, hostile calls must be refused, and the server's memory must
// stay bounded. The test prints how long honest calls take; `make soak` asserts it, with -load 5m -load-ratio 2.
func TestHostileSessionsStopNobody(t *testing.T) {
	l := &load{
		killed:   &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}},
		sessions: map[string]loadSession{},
	}
	l.start()
	defer func() { _ = l.process.Process.Kill(); _ = l.process.Wait() }()
	admin := l.admin()
	defer admin.Close()
	project, _ := l.made(admin, "project:create", map[string]any{"name": "Load"})
	l.project = project["projectId"].(string)
	var workers []reporter
	var hostile []loadSession
	for i := range honestWorkers {
		workers = append(workers, l.worker(admin, fmt.Sprint("worker ", i)))
	}
	for i := range 5 {
		hostile = append(hostile, l.sessions[l.worker(admin, fmt.Sprint("hostile ", i)).task])
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
	l.attackers = startAttackers(t, l.address, hostile)
	// The speed of a shared machine varies from minute to minute. Periods with and without attacks alternate, so that
	// both are measured under the same conditions.
	slice := *loadFor / loadSlices
	l.pass(slice / 2)
	for range loadSlices {
		l.attack(slice)
		l.pass(slice / 2)
	}
	for tries := 0; tries < 10 && l.refusals() == 0; tries++ { // a slow machine needs longer to reach a limit
		l.attack(slowSlice)
	}
	stopWork()
	all.Wait()
	l.judgeLoad(admin)
}

// pass lets time pass, because the test measures a rate.
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
	ID, Token, Task string
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

// now returns the latencies of the current part; mu is held.
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

// probeTimers measures how late timers are: the server waits at least as long for a processor as this test does.
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

// attack has the hostile sessions attack concurrently in every way for this long.
func (l *load) attack(d time.Duration) {
	l.t.Helper()
	l.hostile.Store(true)
	defer l.hostile.Store(false)
	l.answers = l.attackers.attack(l.t, d)
}

// refusals counts the hostile calls that were refused because of a limit.
func (l *load) refusals() (n int) {
	for _, answers := range l.answers {
		n += answers[http.StatusTooManyRequests]
	}
	return n
}

// judgeLoad prints the figures and checks them.
func (l *load) judgeLoad(admin *client.Client) {
	l.t.Helper()
	memory := l.peak()
	ratio := float64(p99(l.attacked.calls)) / float64(p99(l.idle.calls))
	l.t.Log("idle:", l.idle)
	l.t.Log("under attack:", l.attacked)
	l.t.Logf("the p99 under attack is %.2f times the idle one", ratio)
	l.t.Logf("the server's peak resident memory: %d MiB", memory>>20)
	for _, name := range slices.Sorted(maps.Keys(l.answers)) {
		l.t.Logf("%-30s %v", name, l.answers[name])
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
	if l.refusals() == 0 {
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

// peak returns the server's peak memory in bytes; 0 if the system does not report it.
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
