package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"maestro/api/client"
)

// A plain NATS client follows what the command line does, with the address that the server prints; and it is cut off
// when the server stops.
func TestNATSClientFollows(t *testing.T) {
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "home")
	server := exec.Command(binary, "serve", "--no-runner", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--json")
	server.Env = append(os.Environ(), "MAESTRO_HOME="+dir)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	var started struct {
		Data struct{ Address, NATS string }
	}
	if err := json.NewDecoder(out).Decode(&started); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(token))
	closed := make(chan struct{})
	follower, err := nats.Connect(started.Data.NATS, nats.Token(secret), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	events, err := follower.SubscribeSync("maestro.live.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Flush(); err != nil {
		t.Fatal(err)
	}
	admin := client.New(started.Data.Address, secret)
	answer, err := admin.Do(t.Context(), "project:create", map[string]any{"name": "Shop"}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := events.NextMsgWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != string(answer.Event) {
		t.Errorf("got %s\nwant %s", m.Data, answer.Event)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-closed
}
