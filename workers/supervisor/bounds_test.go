package supervisor

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maestro/commands"
	"maestro/events"
)

// newWaiting returns records of which none is sent.
func newWaiting() *records {
	return newRecords(nil, "sess_1", 1, func(text string) string { return text }, slog.New(slog.DiscardHandler))
}

// sends returns the records in the order in which they are sent.
func (r *records) sends(t *testing.T) (sent []any) {
	t.Helper()
	for x := r.next(); x != nil; x = r.next() {
		sent = append(sent, x.body)
		r.mu.Lock()
		r.waiting = r.waiting[1:]
		r.mu.Unlock()
	}
	return sent
}

// While the server is away, an agent that is denied again and again costs a bounded number of records, which say how
// often. One that is being sent stays as it is: its key stands for what it says.
func TestWaitingRecordsAreBounded(t *testing.T) {
	r := newWaiting()
	r.blocked("Bash", "rm -rf /", "no", false)
	r.next()
	r.blocked("Bash", "rm -rf /", "no", false)
	r.blocked("Bash", "rm -rf /", "no", false)
	for i := range 10 * mostWaiting {
		r.blocked("Bash", fmt.Sprint("rm ", i), "no", false)
		r.stuck(events.StuckLoop, fmt.Sprint("loop ", i), time.Now())
	}
	r.blocked("Write", "/etc/passwd", "no", false)
	r.blocked("Bash", "unseen", "it ran", true)
	sent := r.sends(t)
	if len(sent) > 2*mostWaiting+3 {
		t.Fatalf("%d records are sent", len(sent))
	}
	calls, killed, last, looks := 0, false, "", ""
	for i, body := range sent {
		switch x := body.(type) {
		case *commands.BlockCommand:
			n, more := 1, 0
			_, _ = fmt.Sscanf(x.Reason, "(%d times)", &n)
			if _, err := fmt.Sscanf(x.Reason, "%d more calls", &more); err == nil {
				n = more
			}
			if want := map[int]int{0: 1, 1: 2}[i]; want > 0 && n != want {
				t.Errorf("record %d is of %d calls, not %d: %s", i, n, want, x.Reason)
			}
			calls += n
			killed = killed || x.Killed
			last = x.Tool + " " + x.Reason
		case *commands.MarkStuck:
			looks = x.Detail
		}
	}
	if want := 1 + 2 + 10*mostWaiting + 2; calls != want {
		t.Errorf("the records are of %d calls, want %d", calls, want)
	}
	if !killed || !strings.HasPrefix(last, "Write ") || looks != fmt.Sprint("loop ", 10*mostWaiting-1) {
		t.Errorf("killed: %t; the last record: %s; it looks as in %s", killed, last, looks)
	}
}

// The server takes no name of a tool that is longer than its limit, or has several lines. A call with one is recorded
// all the same.
func TestInventedToolIsRecorded(t *testing.T) {
	r := newWaiting()
	r.blocked(strings.Repeat("ü", commands.MaxName)+"\nx", "", "no", false)
	tool := r.sends(t)[0].(*commands.BlockCommand).Tool
	if problem := commands.ValidLine("/tool", tool, commands.MaxName); problem != nil {
		t.Errorf("%q: %v", tool, problem)
	}
}

// Decisions about invented calls do not pile up: the oldest is forgotten, and what the program shows afterwards without
// a decision is noticed.
func TestInventedCallsAreForgotten(t *testing.T) {
	c := newCourse(t)
	for i := range mostUnused + 1 {
		c.decides(fmt.Sprint("invented ", i), true)
	}
	if n := len(c.d.unused); n != mostUnused {
		t.Errorf("%d are kept", n)
	}
	c.shows("invented 1")
	c.graceEnds()
	if len(c.told) > 0 {
		t.Errorf("told %q of a call that is allowed", c.told)
	}
	c.shows("invented 0")
	c.graceEnds()
	if len(c.told) != 1 {
		t.Errorf("told %q of a call whose decision is forgotten", c.told)
	}
}

// Whatever a call says, its decision is short, and is found when the call is shown.
func TestDecisionsAreShort(t *testing.T) {
	c := newCourse(t)
	long := strings.Repeat("x", 1<<20)
	about := c.d.begin(long)
	if err := c.d.record(about, decision{
		Allowed: true,
		Tool:    long,
		Command: long,
		Reason:  long,
	}); err != nil {
		t.Fatal(err)
	}
	if n := c.log.Len(); n > 16<<10 {
		t.Errorf("a decision has %d bytes", n)
	}
	c.shows(long + "another")
	c.shows(long)
	c.graceEnds()
	if len(c.told) != 1 || len(c.d.unused) != 0 {
		t.Errorf("told %q, and kept %v", c.told, c.d.unused)
	}
}

// When the log is full, nothing is lost of it, and no call is allowed, also in the next run.
func TestFullLogAllowsNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "decisions.jsonl")
	for run, room := range []int64{1000, 1} {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Truncate(mostDecisions - room); err != nil { // the file has no blocks
			t.Fatal(err)
		}
		c := newCourse(t)
		if c.d.file, err = boundDecisions(file); err != nil {
			t.Fatal(err)
		}
		allowed := 0
		for i := range 100 {
			if c.d.record(c.d.begin(fmt.Sprint(i)), decision{Allowed: true}) == nil {
				allowed++
				continue
			}
			if err := c.d.record(c.d.begin("k"), decision{Allowed: true}); err == nil ||
				!strings.Contains(err.Error(), "full") {
				t.Errorf("run %d: after a call was denied: %v", run, err)
			}
			break
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if (allowed > 0) != (room > 1) || info.Size() > mostDecisions {
			t.Errorf("run %d: %d calls were allowed, and the log has %d bytes", run, allowed, info.Size())
		}
		c.shows("k") // it is denied, so it may not run
		c.d.returned("1", false)
		if len(c.told) != 1 {
			t.Errorf("run %d: told %q of a call that ran", run, c.told)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
