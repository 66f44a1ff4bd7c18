package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
)

var (
	steadyFor   = flag.Duration("steady", 3*time.Second, "how long reports come at a steady rate")
	steadyRate  = flag.Int("steady-rate", 200, "how many reports come in a second")
	steadyRatio = flag.Float64("steady-ratio", 0, "how many times the first p99 the last may be; 0: any")
)

const (
	steadyWorkers = 40
	steadyWindows = 12
	steadyTasks   = 2000
	// bytesAnEvent bounds what an event may add to the server's memory; see docs/operations.md.
	bytesAnEvent = 120
	// steadyRoom is what the memory may vary by itself, in bytes.
	steadyRoom = 96 << 20
	// moreGoroutines and moreFiles are how many the server may have at the end above those of one that just started.
	moreGoroutines, moreFiles = 10, 10
)

// steady is a server with workers that report at a steady rate, and clients that read.
type steady struct {
	*load
	acked atomic.Int64
	reads atomic.Int64
	tooks [steadyWindows][]time.Duration
	begun time.Time
	from  uint64     // the event before the first report
	first serverSize // when it had just started
}

// TestSteadyLoadStaysFlat has workers report at a steady rate while others read the inbox, the status, a task and what
// changed, and list every task. No call may fail, every acknowledged report is in the log, and memory, goroutines and
// descriptors must not grow but for what events take. `make soak` also asserts the latency.
func TestSteadyLoadStaysFlat(t *testing.T) {
	s := &steady{load: &load{
		killed:   &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}},
		sessions: map[string]loadSession{},
	}}
	s.options = []string{"--backup-every", "off"}
	s.start()
	defer func() { _ = s.process.Process.Kill(); _ = s.process.Wait() }()
	s.first = s.size()
	admin := s.admin()
	defer admin.Close()
	project, _ := s.made(admin, "project:create", map[string]any{"name": "Steady"})
	s.project = project["projectId"].(string)
	for i := range min(steadyTasks, 10**steadyRate) {
		s.made(admin, "task:create", map[string]any{"project": s.project, "title": fmt.Sprint("Task ", i)})
	}
	var workers []reporter
	for i := range steadyWorkers {
		workers = append(workers, s.worker(admin, fmt.Sprint("worker ", i)))
	}
	before := s.size()
	s.from = s.next(admin)
	s.begun = time.Now()
	working, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() { s.reportSteadily(working, i, w) })
	}
	for range 2 {
		all.Go(func() { s.readAll(working, admin, workers[0].task) })
	}
	all.Go(func() { s.listAll(working, admin) })
	var sizes [steadyWindows]serverSize
	for i := range sizes {
		s.pass(time.Until(s.begun.Add(*steadyFor * time.Duration(i+1) / steadyWindows)))
		sizes[i] = s.size()
		t.Logf("%6s: %d reports, %d reads, p99 %s, %s", time.Since(s.begun).Round(time.Second), s.acked.Load(),
			s.reads.Load(), p99(s.window(i)), sizes[i])
	}
	stop()
	all.Wait()
	s.judgeSteady(admin, before, sizes[:])
}

// reportSteadily reports at the worker's share of the rate. A report that is late does not make the next ones rarer.
func (s *steady) reportSteadily(ctx context.Context, worker int, w reporter) {
	defer w.client.Close()
	every := steadyWorkers * time.Second / time.Duration(*steadyRate)
	due := s.begun.Add(every * time.Duration(worker) / steadyWorkers)
	for n := 0; ; n++ {
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		body := map[string]any{"message": fmt.Sprint("step ", n), "taskIds": []string{w.task}}
		_, err := w.client.Do(context.WithoutCancel(ctx), "report:progress", body, client.Options{})
		if err != nil {
			s.t.Errorf("report %d of worker %d: %v", n, worker, err)
			return
		}
		s.acked.Add(1)
		at := min(int(time.Since(s.begun)*steadyWindows / *steadyFor), steadyWindows-1)
		s.mu.Lock()
		s.tooks[at] = append(s.tooks[at], time.Since(began))
		s.mu.Unlock()
		due = due.Add(every)
	}
}

func (s *steady) window(i int) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tooks[i]
}

// readAll reads what people and agents read, one thing after the other.
func (s *steady) readAll(ctx context.Context, c *client.Client, task string) {
	for ctx.Err() == nil {
		for _, read := range []func() error{
			func() error { _, err := c.Inbox(ctx, wire.InboxFilter{ProjectID: s.project}); return err },
			func() error { _, err := c.ProjectStatus(ctx, s.project); return err },
			func() error { _, err := c.Task(ctx, task); return err },
			func() error {
				from := strconv.FormatUint(s.from+uint64(max(0, s.acked.Load()-100)), 10)
				_, err := c.Since(ctx, wire.SinceQuery{ProjectID: s.project, From: from})
				return err
			},
		} {
			if err := read(); err != nil && ctx.Err() == nil {
				s.t.Errorf("a read failed: %v", err)
				return
			}
			s.reads.Add(1)
			s.rest(ctx)
		}
	}
}

// listAll lists all tasks, again and again.
func (s *steady) listAll(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		if _, err := c.Tasks(ctx, wire.TaskFilter{ProjectID: s.project}); err != nil && ctx.Err() == nil {
			s.t.Errorf("listing failed: %v", err)
			return
		}
		s.reads.Add(1)
		s.rest(ctx)
	}
}

// rest is the pause of a reader: the test measures a steady load, not the most that is possible.
func (s *steady) rest(ctx context.Context) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
}

// serverSize is what the server takes.
type serverSize struct {
	resident int64
	files    int
}

func (s serverSize) String() string {
	return fmt.Sprintf("%d MiB, %d descriptors", s.resident>>20, s.files)
}

func (s *steady) size() serverSize {
	dir := fmt.Sprintf("/proc/%d/", s.process.Process.Pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		s.t.Fatal(err)
	}
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return serverSize{kilobytes << 10, len(files)}
}

// next returns the sequence of a new event.
func (s *steady) next(admin *client.Client) uint64 {
	s.t.Helper()
	_, answer := s.made(admin, "task:create", map[string]any{"project": s.project, "title": "Where the log is"})
	return answer.Sequence
}

// medianP99 returns the median of the windows' p99s.
func medianP99(windows [][]time.Duration) time.Duration {
	var all []time.Duration
	for _, window := range windows {
		all = append(all, p99(window))
	}
	return quantile(all, 0.5)
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)

// goroutines ends the server, which then says what each of its goroutines does, and counts them.
func (s *steady) goroutines() int {
	if err := s.process.Process.Signal(syscall.SIGQUIT); err != nil {
		s.t.Fatal(err)
	}
	_ = s.process.Wait()
	said := s.stderr.String()
	s.stderr.forget()
	return len(goroutine.FindAllString(said, -1))
}

// judgeSteady checks what the server took, and that the log has every report.
func (s *steady) judgeSteady(admin *client.Client, before serverSize, sizes []serverSize) {
	s.t.Helper()
	reports := s.acked.Load()
	if logged := s.next(admin) - s.from - 1; logged != uint64(reports) {
		s.t.Errorf("%d reports were acknowledged, and the log has %d", reports, logged)
	}
	last := sizes[len(sizes)-1]
	if grown, most := last.resident-before.resident, reports*bytesAnEvent+steadyRoom; grown > most {
		s.t.Errorf("the memory grew by %d MiB for %d reports, of at most %d", grown>>20, reports, most>>20)
	}
	third := steadyWindows / 3
	first, end := medianP99(s.tooks[:third]), medianP99(s.tooks[steadyWindows-third:])
	s.t.Logf("the median p99 of the first third is %s, that of the last %s", first, end)
	if *steadyRatio > 0 && float64(end) > *steadyRatio*float64(first) {
		s.t.Errorf("that is more than %.1f times", *steadyRatio)
	}
	admin.Close()
	var left, files, fresh int
	comes(func() bool { // the server notices that connections are closed
		left = s.size().files
		return left <= s.first.files+moreFiles
	})
	atEnd := s.goroutines()
	comes(func() bool { // one that just listens may not have started everything
		s.start()
		files = s.size().files
		fresh = s.goroutines()
		return left <= files+moreFiles && atEnd <= fresh+moreGoroutines
	})
	s.t.Logf("at the end %d goroutines and %d descriptors; after a start %d and %d", atEnd, left, fresh, files)
	if atEnd == 0 || fresh == 0 || atEnd > fresh+moreGoroutines {
		s.t.Errorf("%d goroutines at the end, %d after a start", atEnd, fresh)
	}
	if left > files+moreFiles {
		s.t.Errorf("%d descriptors at the end, %d after a start", left, files)
	}
}
