//go:build linux

package bus

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/internal/logtest"
)

// childEnv makes the test binary run the trap itself: the limit on files holds for the whole process.
const childEnv = "MAESTRO_BUS_FULL_DISK"

func TestFullDisk(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		fullDiskChild(t)
		return
	}
	for _, d := range []Durability{Always, Interval} {
		t.Run(d.String(), func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			child := exec.CommandContext(t.Context(), self, "-test.run=^TestFullDisk$", "-test.v")
			child.Env = append(os.Environ(), childEnv+"="+d.String())
			out, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "the disk was full after") {
				t.Fatalf("the child: %v\n%s", err, out)
			}
		})
	}
}

func fullDiskChild(t *testing.T) {
	d, err := ParseDurability(os.Getenv(childEnv))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	logtest.RunTrap(t, "FullDisk", func(t *testing.T) logtest.Fixture {
		b := mustOpen(t, t.TempDir(), d)
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		return logtest.Fixture{
			Log: b,
			FillDisk: func(t *testing.T) {
				info, err := os.Stat(filepath.Join(b.embedded.messagesDir(StreamName), "1.blk"))
				if err != nil {
					t.Fatal(err)
				}
				limit := before
				limit.Cur = uint64(info.Size()) + 64<<10 + 123
				if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
					t.Fatal(err)
				}
			},
			MakeRoom: func(t *testing.T) {
				if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
