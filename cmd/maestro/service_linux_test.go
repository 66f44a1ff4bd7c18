package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The server tells its service manager when it is ready and when it stops.
func TestServeTellsTheServiceManager(t *testing.T) {
	socket := &net.UnixAddr{Name: "@maestro-" + rand.Text(), Net: "unixgram"}
	manager, err := net.ListenUnixgram("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	told := func() string {
		text := make([]byte, 1024)
		n, err := manager.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--no-runner", "--listen", "127.0.0.1:0", "--log-level", "error"}, []string{
			"MAESTRO_HOME=" + filepath.Join(t.TempDir(), "home"), "NOTIFY_SOCKET=" + socket.Name,
		}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	if text := told(); !strings.HasPrefix(text, "READY=1\nSTATUS=Listening on http://127.0.0.1:") {
		t.Errorf("it is told %q", text)
	}
	stop()
	if text := told(); !strings.HasPrefix(text, "STOPPING=1\n") {
		t.Errorf("it is told %q", text)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A server continues when its terminal goes away.
func TestServeIgnoresHangUps(t *testing.T) {
	for _, line := range [][]string{{"serve"}, {"-o", "table", "serve"}} {
		t.Run(strings.Join(line, " "), func(t *testing.T) { serveIgnoresHangUps(t, line) })
	}
}

func serveIgnoresHangUps(t *testing.T, line []string) {
	server := exec.Command("maestro", append(line, "--listen", "127.0.0.1:0")...)
	home := filepath.Join(t.TempDir(), "home")
	server.Env = append(os.Environ(), "MAESTRO_HOME="+home)
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	lines := bufio.NewScanner(log)
	until := func(word string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), word) {
				return
			}
		}
		t.Fatalf("the log does not say %q", word)
	}
	until("msg=listening")
	for range 2 {
		if err := server.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		until("hang-up signal is ignored")
	}
	if got := runHere(t, map[string]string{"MAESTRO_HOME": home}, "whoami"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until("stopping")
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}
