package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// another returns a copy of the program that a user other than root may run, and that user.
func another(t *testing.T) (program string, user int, as *syscall.SysProcAttr) {
	t.Helper()
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return binary, os.Geteuid(), nil
	}
	program = filepath.Join(t.TempDir(), "maestro")
	content, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, content, 0o700)
	}
	err = errors.Join(err, os.Chmod(program, 0o755), os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return program, nobody, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// A start names each file of a home that its user may not use, with the reason and the command that fixes it, and never
// advises to delete it.
func TestFilesWithoutPermissionAtStart(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	s.do("project:create", map[string]any{"name": "P"})
	s.stop()
	program, user, as := another(t)
	type denied struct {
		path string
		mode fs.FileMode
		root bool // it belongs to root
		next string
	}
	cases := []denied{
		{".", 0o500, false, "chmod u+rwx"},
		{".", 0, false, "chmod u+rwx"},
		{"lock", 0o400, false, "chmod u+rw"},
		{"version", 0, false, "chmod u+rw"},
		{"server.key", 0, false, "chmod u+rw"},
		{"admin.token", 0, false, "chmod u+rw"},
		{"store", 0o500, false, "chmod u+rwx"},
		{"store", 0, false, "chmod u+rwx"},
		{"store/lock", 0o400, false, "chmod u+rw"},
	}
	if as != nil {
		chown := fmt.Sprintf("chown %d", user)
		cases = append(cases,
			denied{".", 0o700, true, chown},
			denied{"lock", 0o644, true, chown},
			denied{"version", 0o600, true, chown},
			denied{"server.key", 0o644, true, chown},
			denied{"server.key", 0o600, true, chown},
			denied{"admin.token", 0o644, true, chown},
			denied{"store", 0o755, true, chown},
			denied{"store/lock", 0o644, true, chown},
		)
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %04o %t", c.path, c.mode, c.root), func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			path := filepath.Join(home, c.path)
			err := errors.Join(os.CopyFS(home, os.DirFS(s.home)), os.Chmod(filepath.Dir(filepath.Dir(home)), 0o755))
			err = errors.Join(err, filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				mode := fs.FileMode(0o600)
				if entry.IsDir() {
					mode = 0o700
				}
				return errors.Join(os.Lchown(path, user, -1), os.Chmod(path, mode))
			}), os.Chmod(path, c.mode))
			if c.root {
				err = errors.Join(err, os.Chown(path, 0, 0))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) // so that it can be removed
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var stderr bytes.Buffer
			process := exec.CommandContext(ctx, program, "serve", "--no-runner", "--listen", "127.0.0.1:0",
				"--backup-every", "off")
			process.Env = append(os.Environ(), "MAESTRO_HOME="+home)
			process.SysProcAttr, process.Stdout, process.Stderr = as, &ending{end: cancel}, &stderr
			if err := process.Run(); err == nil || ctx.Err() != nil {
				t.Fatalf("it starts: %v, %s", err, stderr.String())
			}
			said := stderr.String()
			if !strings.Contains(said, c.next+" "+path+"\n") {
				t.Errorf("it does not say %q: %s", c.next+" "+path, said)
			}
			if strings.Contains(said, "delete") || strings.Contains(said, "level=") {
				t.Errorf("it says more than that: %s", said)
			}
		})
	}
}
