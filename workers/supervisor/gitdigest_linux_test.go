package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"maestro/workers/confine"
	"maestro/workers/preflight"
)

// Whatever an agent leaves in the hooks of a repository of its own, the next check ends, and sees whether it changes.
func TestHooksOfAnySizeAndKind(t *testing.T) {
	target := t.TempDir()
	dir := filepath.Join(target, "r.git")
	bareIn(t, dir)
	hooks := filepath.Join(dir, gitHooks)
	if err := os.Mkdir(hooks, 0o700); err != nil {
		t.Fatal(err)
	}
	sparse := filepath.Join(hooks, "x")
	if err := errors.Join(os.WriteFile(sparse, nil, 0o600), os.Truncate(sparse, 1<<42),
		syscall.Mkfifo(filepath.Join(hooks, "pipe"), 0o600),
		syscall.Mknod(filepath.Join(hooks, "socket"), syscall.S_IFSOCK|0o600, 0)); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Mknod(filepath.Join(hooks, "zero"), syscall.S_IFCHR|0o600, 1<<8|5) // only root can make it
	for i := range 20 {
		path := filepath.Join(hooks, "large"+string(rune('a'+i)))
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, mostDigested)); err != nil {
			t.Fatal(err)
		}
	}
	s := checkedGit(t, target)
	s.clearGit(t.Context())
	if len(s.found) > 0 {
		t.Errorf("said %q", s.found)
	}
	if err := os.Truncate(sparse, 1<<42-1); err != nil {
		t.Fatal(err)
	}
	s.clearGit(t.Context())
	if said := strings.Join(s.found, "\n"); !strings.Contains(said, hooks+": this changed while the agent worked") {
		t.Errorf("said %s", said)
	}
}

// A check ends with its run, and by itself: then the user is asked.
func TestCheckOfGitEnds(t *testing.T) {
	target := t.TempDir()
	bareIn(t, filepath.Join(target, "r.git"))
	s := checkedGit(t, target)
	killed := errors.New("the session has ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(killed)
	if err := s.checkGit(ctx); !errors.Is(err, killed) {
		t.Errorf("in a session that has ended: %v", err)
	}
	s.gitPatience = time.Nanosecond
	var failed *preflight.Failure
	err := s.checkGit(t.Context())
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "it takes longer than 1ns") || failed.Fix == "" {
		t.Errorf("too slow: %v", err)
	}
}

// A command's checks end with its session, or with the signal that its user sends.
func TestCheckOfCommandEnds(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	target := t.TempDir()
	bareIn(t, filepath.Join(target, "r.git"))
	s := &supervisor{
		Console: silence{},
		command: execs,
		layers:  []confine.Layer{confine.Namespaces},
		over:    make(chan struct{}),
	}
	s.dirs.Target = target
	git := filepath.Join(t.TempDir(), "git")
	asked := filepath.Join(t.TempDir(), "asked")
	script := "#!/bin/sh\necho >" + asked + "\nexec sleep 600\n"
	if err := errors.Join(syscall.Mkfifo(asked, 0o600), os.WriteFile(git, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(git)+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := &Attached{s: s}
	ended := make(chan error, 1)
	go func() { ended <- a.Check(t.Context(), nil) }()
	if _, err := os.ReadFile(asked); err != nil { // git reads a configuration
		t.Fatal(err)
	}
	s.why = whyEnded
	close(s.over)
	if err := <-ended; err == nil || err.Error() != whyEnded {
		t.Errorf("it ended with %v", err)
	}
	a.group.Wait()
	if err := s.holdTarget(nil); err != nil {
		t.Error(err)
	}
}
