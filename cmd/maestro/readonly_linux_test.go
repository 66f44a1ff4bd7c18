package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/service/wire"
)

// nobody is the user that reads the home if this process cannot mount anything.
const nobody = 65534

// frozen makes a tree unwritable: by a read-only mount if that is allowed, else by modes, possibly with another user as
// the owner. It returns where the tree is, which program to run, and as which user.
func frozen(t *testing.T, dir, binary string) (at, program string, reader *syscall.SysProcAttr) {
	t.Helper()
	at = filepath.Join(t.TempDir(), "mounted")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	err := unix.Mount(dir, at, "", unix.MS_BIND, "")
	if err == nil {
		t.Cleanup(func() {
			if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		err = unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	if err == nil {
		t.Log("on a read-only mount")
		return at, binary, nil
	}
	t.Logf("by modes: %v", err)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o400)
		if entry.IsDir() {
			mode = 0o500
		}
		if os.Geteuid() == 0 {
			err = os.Chown(path, nobody, nobody)
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
			return os.Chmod(path, 0o700)
		})
	})
	if os.Geteuid() != 0 {
		return dir, binary, nil
	}
	// The other user must be able to reach the home and the program.
	program = filepath.Join(t.TempDir(), "maestro")
	content, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, content, 0o700)
	}
	err = errors.Join(err, os.Chmod(program, 0o755), os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return dir, program, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// A home that cannot be written to is served: reads and audits work, every write is refused with the reason, and the
// home is not changed.
func TestReadOnly(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}}
	k.start()
	admin := k.admin()
	project, _ := k.made(admin, "project:create", map[string]any{"name": "Kept"})
	task, _ := k.made(admin, "task:create", map[string]any{"project": project["projectId"], "title": "T"})
	session, spawned := k.made(admin, "session:spawn", map[string]any{
		"project": project["projectId"], "taskIds": []any{task["taskId"]}, "timeout": 1000,
	})
	worker := client.New(k.address, spawned.Token)
	long := strings.Repeat("a long text ", 20_000)
	k.made(worker, "report:progress", map[string]any{"message": long})
	_, err := worker.Do(t.Context(), "task:complete", map[string]any{"taskId": task["taskId"]}, client.Options{})
	if err == nil {
		t.Error("a worker completed a task")
	}
	beside := map[string]string{"MAESTRO_HOME": k.home}
	if got := runHere(t, beside, "serve", "--read-only", "--listen", "127.0.0.1:0"); got.code != cli.ExitConflict {
		t.Errorf("next to a server that writes: %+v", got)
	}
	// The worst state of a home: its server was killed, and its head file is damaged. The server's staging directory is
	// in memory.
	if err := k.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.process.Wait()
	if err := os.WriteFile(filepath.Join(k.home, "head"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	at, binary, reader := frozen(t, k.home, binary)
	before := picture(t, k.home)
	memory, err := os.MkdirTemp("/dev/shm", "maestro-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	var stderr shared
	process := exec.Command(binary, "serve", "--read-only", "--listen", "127.0.0.1:0")
	process.Env = append(os.Environ(), "MAESTRO_HOME="+at, "XDG_RUNTIME_DIR="+memory)
	process.SysProcAttr, process.Stderr = reader, &stderr
	r := &inside{t: t, home: at}
	r.listen(process)
	if !strings.Contains(r.banner, "READ-ONLY") {
		t.Errorf("the server says %q\n%s", r.banner, stderr.String())
	}
	env := map[string]string{"MAESTRO_HOME": at, "MAESTRO_API_URL": r.address}
	if reader != nil { // the home belongs to another user
		token, err := os.ReadFile(filepath.Join(at, "admin.token"))
		if err != nil {
			t.Fatal(err)
		}
		env["MAESTRO_TOKEN"] = strings.TrimSpace(string(token))
	}
	for _, args := range [][]string{
		{"project", "list"},
		{"task", "get", task["taskId"].(string)},
		{"status"},
		{"audit", "verify", "--oracle"},
		{"audit", "replay", "--task", task["taskId"].(string)},
		{"audit", "denials"},
		{"session", "info", session["sessionId"].(string)},
	} {
		if got := runHere(t, env, args...); got.code != cli.ExitDone {
			t.Errorf("%v: %+v\n%s", args, got, stderr.String())
		}
	}
	got := runHere(t, env, "audit", "verify")
	if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "1 fault in ") ||
		!strings.Contains(got.stderr, "the head file "+filepath.Join(at, "head")+" is damaged") {
		t.Errorf("the audit says %+v", got)
	}
	timeline := "/api/sessions/" + session["sessionId"].(string) + "/timeline"
	if text, _ := r.get(timeline, 0); !strings.Contains(text, long[:1000]) {
		t.Errorf("the timeline shows %.200s", text)
	}
	if status, ready := r.ready(); status != http.StatusServiceUnavailable || !strings.Contains(ready, "--read-only") {
		t.Errorf("readyz says %d %s", status, ready)
	}
	again := client.New(r.address, spawned.Token)
	for id, body := range map[string]map[string]any{
		"project:create": {"name": "Q"}, "task:create": {"project": project["projectId"], "title": long[:200]},
		"session:kill": {"sessionId": session["sessionId"]}, "report:progress": {"message": long},
	} {
		for _, c := range []*client.Client{r.client, again} {
			var refused *client.Error
			_, err := c.Do(t.Context(), id, body, client.Options{})
			if !errors.As(err, &refused) || refused.Status != 403 && refused.Status != 503 ||
				refused.Status == 503 && !strings.Contains(refused.Why, "--read-only") {
				t.Errorf("%s ended with %v", id, err)
			}
		}
	}
	if _, err := again.Heartbeat(t.Context(), session["sessionId"].(string)); err != nil {
		t.Errorf("a heartbeat ended with %v", err)
	}
	var refused *client.Error
	_, err = again.Denials(t.Context(), wire.DenialFilter{})
	if !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("a refused read ended with %v", err)
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, stderr.String())
	}
	unchanged(t, before, picture(t, k.home))
	if entries, err := os.ReadDir(memory); err != nil || len(entries) > 0 {
		t.Errorf("left in memory: %v, %v", entries, err)
	}
}
