//go:build linux

package bus

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// childEnv tells a child process of a test which durability to use.
const childEnv = "MAESTRO_BUS_CHILD"

// inChildren runs the calling test once for each durability in a process of its own, because a limit on files holds for
// the whole process. Each must pass and print want.
func inChildren(t *testing.T, want string, child func(t *testing.T, d Durability)) {
	t.Helper()
	if word := os.Getenv(childEnv); word != "" {
		d, err := ParseDurability(word)
		if err != nil {
			t.Fatal(err)
		}
		child(t, d)
		return
	}
	t.Parallel()
	name := t.Name()
	for _, d := range []Durability{Always, Interval} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			process := exec.CommandContext(t.Context(), self, "-test.run=^"+name+"$", "-test.v")
			process.Env = append(os.Environ(), childEnv+"="+d.String())
			out, err := process.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Fatalf("the child: %v\n%s", err, out)
			}
		})
	}
}

// fileLimit bounds the size of every file that this process writes. A write beyond it fails as on a full disk.
type fileLimit struct{ before unix.Rlimit }

func newFileLimit(t *testing.T) *fileLimit {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ)
	l := &fileLimit{}
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l.before); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *fileLimit) set(t *testing.T, size uint64) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: l.before.Max}); err != nil {
		t.Fatal(err)
	}
}

func (l *fileLimit) lift(t *testing.T) {
	t.Helper()
	l.set(t, l.before.Cur)
}
