package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/internal/clock"
)

// inside is a server in this process, so that a test can set its wall clock.
type inside struct {
	t        *testing.T
	home     string
	ahead    atomic.Int64              // of the machine's wall clock
	wall     atomic.Pointer[time.Time] // what it shows, if it stands still
	mayFail  bool                      // the server may end with an error
	ended    error                     // why it ended
	out      *bufio.Reader             // what it prints
	banner   string                    // its first line
	client   *client.Client
	token    string
	address  string
	stop     func()
	sequence uint64 // of the last command's event
	said     shared // what it prints on stderr
}

// shared is a buffer that several goroutines write.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// forget empties it.
func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// shows returns what the machine's wall clock shows.
func (s *inside) shows() time.Time {
	if wall := s.wall.Load(); wall != nil {
		return *wall
	}
	return time.Now().Add(time.Duration(s.ahead.Load()))
}

// start starts the server and waits until it listens.
func (s *inside) start(args ...string) {
	s.t.Helper()
	out, printed := io.Pipe()
	a := &cli.Run{
		Env:     map[string]string{"MAESTRO_HOME": s.home},
		Stdin:   strings.NewReader(""),
		Printer: cli.Printer{Stdout: printed, Stderr: &s.said},
		More:    more,
		Wall:    s.shows,
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	root := a.Root()
	root.SetArgs(append([]string{"serve", "--no-runner", "--listen", "127.0.0.1:0", "--lease", "1s"}, args...))
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		_ = printed.CloseWithError(fmt.Errorf("the server ended: %w", err))
		done <- err
	}()
	s.reached(out)
	s.stop = func() {
		s.client.Close()
		cancel()
		_ = out.Close()
		if s.ended = <-done; s.ended != nil && !s.mayFail {
			s.t.Error(s.ended)
		}
		s.stop = func() {}
	}
	s.t.Cleanup(func() { s.stop() })
}

// reached reads the address that the server prints.
func (s *inside) reached(out io.Reader) {
	s.t.Helper()
	s.out = bufio.NewReader(out)
	var rest string
	for found := false; !found; { // the lines of the log may come first
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		s.banner = line
		_, rest, found = strings.Cut(line, "listening on ")
	}
	s.address, _, _ = strings.Cut(rest, " ")
	token, err := os.ReadFile(filepath.Join(s.home, "admin.token"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	s.client = client.New(s.address, s.token)
}

// listen starts a server in a process of its own.
func (s *inside) listen(process *exec.Cmd) {
	s.t.Helper()
	out, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = process.Process.Kill() })
	s.reached(out)
}

// get reads a path once the log has reached a sequence; due says that it has not within the time of one wait.
func (s *inside) get(path string, sequence uint64) (text string, due bool) {
	s.t.Helper()
	address := fmt.Sprintf("%s%s?minSeq=%d", s.address, path, sequence)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		s.t.Fatal(err)
	case answer.StatusCode == http.StatusGatewayTimeout:
		return "", true
	case answer.StatusCode != http.StatusOK:
		s.t.Fatalf("%s answers %s: %s", path, answer.Status, content)
	}
	return string(content), false
}

// ready asks /readyz.
func (s *inside) ready() (status int, body string) {
	s.t.Helper()
	answer, err := (&http.Client{Timeout: longestWait}).Get(s.address + "/readyz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// unready polls /readyz until the server is not ready, and returns its answer.
func (s *inside) unready() (said string) {
	s.t.Helper()
	if !comes(func() bool {
		var status int
		status, said = s.ready()
		return status != http.StatusOK
	}) {
		s.t.Fatalf("the server is still ready after %s: %s", longestWait, said)
	}
	return said
}

// until reads a path again after each event after a sequence, until the answer contains a text.
func (s *inside) until(path string, sequence uint64, text string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), longestWait)
	defer cancel()
	for ctx.Err() == nil {
		got, due := s.get(path, sequence)
		switch {
		case due:
		case strings.Contains(got, text):
			return
		default:
			sequence++
		}
	}
	s.t.Fatalf("%s does not say %s after %s", path, text, longestWait)
}

func (s *inside) do(id string, body any) (data map[string]any, at time.Time) {
	s.t.Helper()
	k := killed{t: s.t}
	_, answer := k.made(s.client, id, body)
	s.sequence = answer.Sequence
	var event struct {
		Time time.Time
		Data map[string]any
	}
	if err := json.Unmarshal(answer.Event, &event); err != nil {
		s.t.Fatal(err)
	}
	return event.Data, event.Time
}

// A wall clock that jumps by 30 years while the server runs is reported, does not affect the times of events, and does
// not delay timeouts. Once it is confirmed, the server follows it. A server that starts with a clock that is behind its
// log reports that, and its deadlines still take effect.
func TestWallClockJump(t *testing.T) {
	const years = 30 * 365 * 24 * time.Hour
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start()
	project, _ := s.do("project:create", map[string]any{"name": "P"})
	task, _ := s.do("task:create", map[string]any{"project": project["projectId"], "title": "T"})
	short := map[string]any{"project": project["projectId"], "taskIds": []any{task["taskId"]}, "timeout": 500}
	timedOut := func() {
		t.Helper()
		session, _ := s.do("session:spawn", short)
		s.until("/api/sessions/"+session["sessionId"].(string), s.sequence, `"status":"failed"`)
	}
	s.ahead.Store(int64(years))
	timedOut()
	if _, at := s.do("project:create", map[string]any{"name": "Now"}); time.Since(at).Abs() > clock.Tolerance {
		t.Errorf("an event has the time %s", at)
	}
	if _, ready := s.ready(); !strings.Contains(ready, "30.0 years") || !strings.Contains(ready, `"ready"`) {
		t.Errorf("readyz says %s", ready)
	}
	if answer, err := s.client.ConfirmClock(t.Context()); err != nil || !answer.Changed {
		t.Errorf("confirming came to %+v, %v", answer, err)
	}
	if _, at := s.do("project:create", map[string]any{"name": "Later"}); time.Until(at) < years-clock.Tolerance {
		t.Errorf("after it was confirmed, an event has the time %s", at)
	}
	s.stop()

	s.ahead.Store(0)
	s.start()
	printed := make(chan string, 1)
	go func() { // the server answers nobody before this is read
		line, _ := s.out.ReadString('\n')
		printed <- line
	}()
	if _, ready := s.ready(); !strings.Contains(ready, "behind the newest event") {
		t.Fatalf("readyz says %s", ready)
	}
	if line := <-printed; !strings.Contains(line, "CLOCK") || !strings.Contains(line, "30.0 years behind") {
		t.Errorf("the server says %q of its clock", line)
	}
	timedOut()
}

// A server does not start if the clock shows a time that no event can record, and does not follow such a clock even
// when it is confirmed.
func TestWallClockBeyondAllEvents(t *testing.T) {
	for _, year := range []int{1960, 9001, 9999, 10001} {
		s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
		wall := time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC)
		s.wall.Store(&wall)
		ctx, cancel := context.WithCancel(t.Context())
		a := &cli.Run{
			Env:     map[string]string{"MAESTRO_HOME": s.home},
			Stdin:   strings.NewReader(""),
			Printer: cli.Printer{Stdout: &ending{end: cancel}, Stderr: &s.said},
			More:    more,
			Wall:    s.shows,
		}
		root := a.Root()
		root.SetArgs([]string{"serve", "--no-runner", "--listen", "127.0.0.1:0"})
		err := root.ExecuteContext(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the machine's clock shows %d-", year)) {
			t.Errorf("%d: %v", year, err)
		}
		if _, err := os.Lstat(s.home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d: a home was made: %v", year, err)
		}
		s.wall.Store(nil)
		s.start()
		s.wall.Store(&wall)
		var said *client.Error
		if _, err := s.client.ConfirmClock(t.Context()); !errors.As(err, &said) || said.Code != "CLOCK" {
			t.Errorf("%d: confirming it: %v", year, err)
		}
		if _, at := s.do("project:create", map[string]any{"name": "P"}); time.Since(at).Abs() > clock.Tolerance {
			t.Errorf("%d: an event has the time %s", year, at)
		}
		if _, ready := s.ready(); !strings.Contains(ready, "correct the machine's clock: events cannot have") {
			t.Errorf("%d: readyz says %s", year, ready)
		}
		if text, _ := s.get("/api/clock", 0); !strings.Contains(text, `"jumped":true`) {
			t.Errorf("%d: the clock is %s", year, text)
		}
		s.stop()
	}
}
