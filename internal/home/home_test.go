package home

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func made(t *testing.T) *Home {
	t.Helper()
	h, err := Create(filepath.Join(t.TempDir(), "a", "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func locked(t *testing.T, h *Home) *Lock {
	t.Helper()
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
	return lock
}

func TestPath(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"MAESTRO_HOME": "/srv/m", "HOME": "/home/u"}, "/srv/m"},
		{map[string]string{"MAESTRO_HOME": "m"}, filepath.Join(here, "m")},
		{map[string]string{"HOME": "/home/u"}, "/home/u/.maestro"},
		{map[string]string{"USERPROFILE": "/users/u"}, "/users/u/.maestro"},
	}
	for _, test := range tests {
		got, err := Path(func(name string) string { return test.env[name] })
		if err != nil || got != test.want {
			t.Errorf("%v: got %q, %v", test.env, got, err)
		}
	}
	if got, err := Path(func(string) string { return "" }); err == nil {
		t.Errorf("without any variable: got %q", got)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing home: %v", err)
	}
	h := made(t)
	info, err := os.Stat(h.Dir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(h.Dir(), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(h.Dir()); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a home that is open to others: %v", err)
	}
	prepared := filepath.Join(t.TempDir(), "prepared") // as mkdir makes it
	if err := errors.Join(os.Mkdir(prepared, 0o755), os.Chmod(prepared, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, advice := range map[string]string{configFile: "chmod 700 " + prepared, "notes.txt": "name a home, or"} {
		if err := os.WriteFile(filepath.Join(prepared, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(prepared); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("a directory with %s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(prepared, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(file); err == nil {
		t.Error("a file was accepted as a home")
	}
}

func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can change the owner of a home: not tested here")
		return
	}
	h := made(t)
	if err := os.Chown(h.Dir(), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(h.Dir()); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("got %v", err)
	}
}

func TestSecrets(t *testing.T) {
	h := made(t)
	if _, err := h.AdminToken(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	lock := locked(t, h)
	first, err := lock.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.AdminToken, "msu_") || len(first.AdminToken) < 44 || len(first.ServerKey) != 32 {
		t.Errorf("got %d characters and %d bytes", len(first.AdminToken), len(first.ServerKey))
	}
	again, err := lock.Secrets()
	if err != nil || again.AdminToken != first.AdminToken || string(again.ServerKey) != string(first.ServerKey) {
		t.Errorf("a second start has other secrets: %v", err)
	}
	if token, err := h.AdminToken(); err != nil || token != first.AdminToken {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{adminTokenFile, serverKeyFile, lockFile} {
		info, err := os.Stat(filepath.Join(h.Dir(), name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if other, err := locked(t, made(t)).Secrets(); err != nil || other.AdminToken == first.AdminToken {
		t.Errorf("two homes share a token: %v", err)
	}
}

func TestBadSecrets(t *testing.T) {
	tests := []struct {
		name, file, content string
		mode                fs.FileMode
		want                string
	}{
		{"empty token", adminTokenFile, "", 0o600, "does not contain a token"},
		{"cut token", adminTokenFile, "msu_abc\n", 0o600, "does not contain a token"},
		{"damaged token", adminTokenFile, "msu_" + strings.Repeat("x", 40) + "\x02", 0o600, "not contain a token"},
		{"token with é", adminTokenFile, "msu_" + strings.Repeat("x", 40) + "é", 0o600, "not contain a token"},
		{"token for all", adminTokenFile, "msu_" + strings.Repeat("x", 43), 0o644, "chmod 600"},
		{"cut key", serverKeyFile, "abcd\n", 0o600, "does not contain a key"},
		{"key for the group", serverKeyFile, strings.Repeat("ab", 32), 0o640, "chmod 600"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lock := locked(t, made(t))
			path := filepath.Join(lock.Dir(), test.file)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := lock.Secrets(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if content, _ := os.ReadFile(path); string(content) != test.content {
				t.Error("a bad secret was overwritten")
			}
		})
	}
}

// A symbolic link must not lead out of the home.
func TestContained(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(outside, []byte("msu_"+strings.Repeat("x", 43)), 0o600); err != nil {
		t.Fatal(err)
	}
	h := made(t)
	if err := os.Symlink(outside, filepath.Join(h.Dir(), adminTokenFile)); err != nil {
		t.Fatal(err)
	}
	if token, err := h.AdminToken(); err == nil {
		t.Errorf("followed a link to %q", token)
	}
}

func TestServer(t *testing.T) {
	lock := locked(t, made(t))
	if _, err := lock.Server(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is announced: %v", err)
	}
	want := Server{Address: "http://127.0.0.1:3000", PID: 42}
	if err := lock.Announce(want); err != nil {
		t.Fatal(err)
	}
	if got, err := lock.Server(); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	path := filepath.Join(lock.Dir(), serverFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := lock.Withdraw(); err != nil {
			t.Error(err)
		}
	}
	for _, content := range []string{"", "{}", `{"address":""}`, "nonsense"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := lock.Server(); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: got %+v, %v", content, got, err)
		}
	}
}

func TestLock(t *testing.T) {
	h := made(t)
	if h.Running() {
		t.Error("no process was here, but the home counts as held")
	}
	lock := locked(t, h)
	if !h.Running() {
		t.Error("the home is held, but does not count as held")
	}
	_, err := h.Lock()
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Address != "" {
		t.Errorf("before it is announced: %v", err)
	}
	if err := lock.Announce(Server{Address: "http://127.0.0.1:3000", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Lock(); !errors.As(err, &held) || held.PID != os.Getpid() ||
		held.Address != "http://127.0.0.1:3000" {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	if h.Running() {
		t.Error("the home was released, but counts as held")
	}
	_ = locked(t, h)
}

// Clients that check whether a server runs must not prevent one from starting.
func TestLockAmongClients(t *testing.T) {
	h := made(t)
	_ = locked(t, h).Release()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = h.Running()
			}
		}
	})
	for range 20 {
		lock, err := h.Lock()
		if err != nil {
			t.Error(err)
			break
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	clients.Wait()
}

// A killed process releases its lock.
func TestLockOfTheDead(t *testing.T) {
	if os.Getenv("HOME_TEST_DIR") != "" {
		h, err := Open(os.Getenv("HOME_TEST_DIR"))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := h.Lock()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		runtime.KeepAlive(lock)
		return
	}
	h := made(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(binary, "-test.run", "^TestLockOfTheDead$")
	holder.Env = append(os.Environ(), "HOME_TEST_DIR="+h.Dir())
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	var held *HeldError
	if _, err := h.Lock(); !errors.As(err, &held) || held.PID != holder.Process.Pid {
		t.Errorf("got %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	if h.Running() {
		t.Error("a killed process holds the home")
	}
	_ = locked(t, h)
}
