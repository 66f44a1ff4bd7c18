package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/internal/home"
)

const waiters = 50

// Fifty sessions wait for an item when the real server is told to stop, and a server on another port takes its place:
// each session gets its item, and no caller gets an error.
func TestWaitersComeBack(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	admin := k.admin()
	made, _ := k.made(admin, "project:create", map[string]any{"name": "Waiting"})
	project := made["projectId"].(string)
	k.made(admin, "queue:create", map[string]any{"project": project, "queue": "work"})
	var tasks []string
	for i := range waiters {
		task, _ := k.made(admin, "task:create", map[string]any{"project": project, "title": fmt.Sprint("Item ", i)})
		tasks = append(tasks, task["taskId"].(string))
	}
	// The waiting sessions reach the server through a proxy, whose address is in their home, so that the test knows
	// when they wait.
	target, err := url.Parse(k.address)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{}, 1000)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			if r.In.URL.Query().Has("wait") {
				waiting <- struct{}{}
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
	})
	defer proxy.Close()
	front, err := home.Create(filepath.Join(t.TempDir(), "front"))
	if err != nil {
		t.Fatal(err)
	}
	held, err := front.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(held.Release(), front.Close()) })
	announce := func(address string) {
		if err := held.Announce(home.Server{Address: address, PID: os.Getpid()}); err != nil {
			t.Fatal(err)
		}
	}
	announce(proxy.URL)
	got := make(chan ran, waiters)
	for range waiters {
		spawn := map[string]any{"project": project, "strategy": "queue", "queue": "work"}
		session, answer := k.made(admin, "session:spawn", spawn)
		env := map[string]string{
			"MAESTRO_HOME": front.Dir(), "MAESTRO_API_URL": proxy.URL,
			"MAESTRO_SESSION_ID": session["sessionId"].(string),
			"MAESTRO_TOKEN":      answer.Token, "MAESTRO_PROJECT_ID": project,
		}
		go func() { got <- runHere(t, env, "queue", "start", "--wait", "--timeout", "10m") }()
	}
	for range waiters {
		<-waiting
	}
	if err := k.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := k.process.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if strings.Contains(k.stderr.String(), "did not finish in time") {
		t.Errorf("it cut off requests:\n%s", k.stderr.String())
	}
	k.address = ""
	k.start()
	announce(k.address)
	admin = k.admin()
	for _, task := range tasks {
		k.made(admin, "queue:push", map[string]any{"project": project, "queue": "work", "taskId": task})
	}
	for range waiters {
		if r := <-got; r.code != cli.ExitDone || !strings.HasPrefix(r.stdout, "Started task_") {
			t.Errorf("%+v", r)
		}
	}
}
