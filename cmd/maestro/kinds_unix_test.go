//go:build unix

package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/internal/cli"
)

// If a home has a directory or a pipe in place of a file, the error names it and says what to do: in a server that
// starts, which does not wait for a pipe's other end, in a restore, and in commands that read the home.
func TestIrregularFilesInHome(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // so that a server ends here
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	serve := []string{"serve", "--no-runner", "--listen", taken.Addr().String()}
	readOnly := append(slices.Clone(serve), "--read-only")
	restore := []string{"restore", filepath.Join(t.TempDir(), "log.ndjson")}
	if err := os.WriteFile(restore[1], []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := []string{"task", "list"}
	both := [][]string{serve, restore}
	directories := map[string]bool{"store": true, "store/jetstream": true, "snapshots": true, "sessions": true}
	for name, commands := range map[string][][]string{
		"lock":               {serve, restore, readOnly},
		"admin.token":        {serve, restore, readOnly},
		"server.key":         both,
		"server.json":        {serve, restore, list},
		"version":            both,
		"uses":               both,
		"beats":              both,
		"store":              both,
		"store/jetstream":    both,
		"snapshots":          both,
		"sessions":           both,
		"store/lock":         both,
		"store/clean.json":   both,
		"store/checked.json": both,
	} {
		for kind, put := range map[string]func(path string) error{
			"directory":  func(path string) error { return os.Mkdir(path, 0o700) },
			"named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
			"plain file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		} {
			want := "plain file"
			if directories[name] {
				want = "directory"
			}
			if kind == want {
				continue
			}
			next := "move it away and start again"
			if name == "store" || name == "store/jetstream" {
				next = "`maestro salvage --new-home NEWHOME` makes a new home from the backups; " +
					"or move it away, and restore one"
			}
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := errors.Join(os.Chmod(dir, 0o700), os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
				t.Fatal(err)
			}
			for _, args := range commands {
				got := runHere(t, map[string]string{"MAESTRO_HOME": dir}, args...)
				told := regexp.MustCompile("^maestro: " + regexp.QuoteMeta(path) + " is a " + kind + "\n" +
					"  why:  in a home it must be a [^\n]+\n" +
					"  next: " + regexp.QuoteMeta(next) + "\n$").MatchString(got.stderr)
				if got.code != cli.ExitFailed || !told {
					t.Errorf("%s is a %s, %v: %+v", name, kind, args, got)
				}
			}
		}
	}
}

// A salvage reads the files of --with twice, so they must be regular ones; it does not wait for a pipe's other end.
func TestSalvageWaitsForNoPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, damaged := filepath.Join(dir, "pipe"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(damaged, 0o700), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	got := runHere(t, nil, "salvage", "--home", damaged, "--new-home", filepath.Join(dir, "new"), "--with", pipe)
	want := "maestro: The file " + pipe + " cannot be read\n" +
		"  why:  it is a named pipe, not a regular file\n" +
		"  next: name a regular file\n"
	if got.code != cli.ExitInvalid || got.stderr != want {
		t.Errorf("%+v", got)
	}
}

// Whatever a command reads must be a regular file: anything else fails at once, in the same words. A pipe that is not
// written to would hold the command forever, and a device may have no end.
func TestCommandsReadRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	listening, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err := errors.Join(err, unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listening.Close() }()
	good := filepath.Join(dir, "good.ndjson")
	if err := os.WriteFile(good, []byte(`{"sequence":1,"hash":"`), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "damaged")
	if err := os.Mkdir(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, why := range map[string]string{
		dir:         "it is a directory",
		pipe:        "it is a named pipe, not a regular file",
		socket:      "it is a socket, not a regular file",
		"/dev/zero": "it is a device, not a regular file",
	} {
		for _, args := range [][]string{
			{"plan", "apply", file},
			{"task", "import", file},
			{"audit", "verify", file},
			{"audit", "verify", "--oracle", file},
			{"audit", "replay", file},
			{"restore", "--home", filepath.Join(dir, "new"), file},
			{"restore", "--home", filepath.Join(dir, "new"), good, "--texts-from", file},
			{"salvage", "--home", damaged, "--new-home", filepath.Join(dir, "new"), "--with", file},
			{"manifest", "validate", file},
			{"manifest", "migrate", file},
			{"manifest", "show", file},
			{"manifest", "generate", "--role", "execute", "--task-ids", "t1", "--context", file},
			{"session", "spawn", "--role", "worker", "--manifest", file},
			{"worker", "init", "--manifest", file},
			{"template", "create", "T", file},
			{"template", "update", "T", "--file", file},
			{"task", "edit", "t1", "--file", file},
		} {
			got := runHere(t, map[string]string{"MAESTRO_HOME": filepath.Join(dir, "none")}, args...)
			want := "maestro: The file " + file + " cannot be read\n  why:  " + why + "\n  next: name a regular file\n"
			if got.code != cli.ExitInvalid || got.stderr != want {
				t.Errorf("%v: %+v", args, got)
			}
		}
	}
}
