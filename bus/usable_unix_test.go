//go:build unix

package bus

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/testing/race"
)

// unprivilegedEnv tells a child process of a test where its directory is.
const unprivilegedEnv = "MAESTRO_BUS_UNPRIVILEGED"

// unprivileged runs a test as a user to whom file modes apply: this one, or another one in a child process. The
// directory belongs to that user.
func unprivileged(t *testing.T, fill func(dir string), test func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(unprivilegedEnv); dir != "" {
		test(t, dir)
		return
	}
	dir := t.TempDir()
	fill(dir)
	if os.Geteuid() != 0 {
		test(t, dir)
		return
	}
	const nobody = 65534
	content, err := os.ReadFile(os.Args[0])
	must(t, err)
	program := filepath.Join(dir, "test")
	must(t, os.WriteFile(program, content, 0o700), os.Chmod(program, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	process := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	process.Dir = dir
	process.Env = append(os.Environ(), unprivilegedEnv+"="+dir, "TMPDIR="+dir, "GOTMPDIR="+dir)
	process.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := process.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the child: %v\n%s", err, out)
	}
}

// A store with a directory that the server cannot write to does not open, at a start or a reopen. The error names the
// directory, nothing is deleted, and everything works once it is corrected: nats-server would delete a stream whose
// directory it cannot write to.
func TestUnwritableStoreIsLeftAlone(t *testing.T) {
	race.Without(t)
	unprivileged(t, func(dir string) {
		sample, _, _, _ := filledStore(t)
		copyStore(t, sample, filepath.Join(dir, "sample"))
	}, func(t *testing.T, dir string) {
		dirs := []string{"jetstream", "jetstream/$G", "jetstream/$G/streams"}
		for _, s := range storedStreams {
			stream := streamPath("", s.name)
			dirs = append(dirs, stream, filepath.Join(stream, "msgs"), filepath.Join(stream, consumersName))
			blocks, err := blockFiles(filepath.Join(dir, "sample", stream, "msgs"))
			must(t, err)
			dirs = append(dirs, filepath.Join(stream, "msgs", blockName(blocks[len(blocks)-1])))
		}
		for _, place := range dirs {
			t.Run(place, func(t *testing.T) {
				image := filepath.Join(t.TempDir(), "store")
				copyStore(t, filepath.Join(dir, "sample"), image)
				path := filepath.Join(image, place)
				info, err := os.Stat(path)
				must(t, err)
				mend := func() { must(t, os.Chmod(path, info.Mode())) }
				defer mend()
				must(t, os.Chmod(path, info.Mode()&^0o222))
				before := storedBlocks(t, image)
				unharmed := func(err error) {
					t.Helper()
					if !errors.Is(err, fs.ErrPermission) ||
						!strings.Contains(err.Error(), path+" cannot be written:") ||
						strings.Count(err.Error(), "chmod") != 1 {
						t.Errorf("not refused with one reason and one piece of advice: %v", err)
					}
					if !maps.Equal(before, storedBlocks(t, image)) {
						t.Fatal("the blocks were changed")
					}
				}
				_, err = Open(t.Context(), Options{Dir: image, Logger: testLogger(t)})
				unharmed(err)
				mend()
				b := openWitnessed(t, image, Always, 80)
				before = storedBlocks(t, image)
				must(t, os.Chmod(path, info.Mode()&^0o222))
				b.doubtful.Store(true)
				_, err = b.Sync(t.Context())
				unharmed(err)
				err = b.Ready()
				if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path+" cannot be written:") {
					t.Errorf("ready: %v", err)
				}
				must(t, b.Read(t.Context(), 1, 80, func(events.Message) error { return nil }))
				mend()
				head, err := b.Sync(t.Context())
				if err != nil || head != 80 {
					t.Errorf("once corrected, the log ends at %d, %v", head, err)
				}
				b.mender.done.Wait()
				must(t, b.Ready())
			})
		}
	})
}
