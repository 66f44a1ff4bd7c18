package lines

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// reader accepts what is written once it is open.
type reader struct {
	open chan struct{}
	mu   sync.Mutex
	b    bytes.Buffer
}

func (r *reader) Write(p []byte) (int, error) {
	<-r.open
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *reader) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSuffix(r.b.String(), "\n"), "\n")
}

func count(dropped int) []byte { return fmt.Appendf(nil, "dropped %d\n", dropped) }

// Writing never waits for a reader, and closing waits a bounded time. Lines that do not fit are counted, and the others
// arrive in order once somebody reads.
func TestWriterNeverWaitsForReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{open: make(chan struct{})}
		q := NewQueue(r, count)
		const all = 100_000
		for n := range all {
			if _, err := fmt.Fprintf(q, "%d %s\n", n, strings.Repeat("x", 100)); err != nil {
				t.Fatal(err)
			}
		}
		q.Settle()
		if q.size > most {
			t.Errorf("%d bytes wait", q.size)
		}
		if q.Close() {
			t.Error("everything counts as written, although nobody read it")
		}
		if _, err := q.Write([]byte("late\n")); err == nil {
			t.Error("a write after it succeeded")
		}
		close(r.open)
		<-q.done
		got := r.lines()
		for n, line := range got[:len(got)-1] {
			if !strings.HasPrefix(line, fmt.Sprint(n, " ")) {
				t.Fatalf("line %d is %q", n, line)
			}
		}
		if want := fmt.Sprint("dropped ", all-len(got)+1); got[len(got)-1] != want {
			t.Errorf("the last line is %q, expected %q", got[len(got)-1], want)
		}
	})
}

// The count of dropped lines is in the place of those lines.
func TestDroppedLinesAreCountedInTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{open: make(chan struct{})}
		q := NewQueue(r, count)
		for range 3 {
			_, _ = q.Write(bytes.Repeat([]byte("x"), most))
			synctest.Wait() // the first is about to be written, the second waits, the third is dropped
		}
		close(r.open)
		q.Settle()
		_, _ = q.Write([]byte("more\n"))
		if !q.Close() {
			t.Error("not everything was written")
		}
		_, _ = q.Write([]byte("after the end\n"))
		got := strings.TrimLeft(strings.Join(r.lines(), "|"), "x")
		if want := "dropped 1|more|after the end"; got != want {
			t.Errorf("after the long lines comes %q, expected %q", got, want)
		}
	})
}
