package main

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"maestro/service/wire"
)

// A waiting command ends when the shell that started it is killed. Otherwise it would take an item that nobody works
// on, or mail that nobody reads.
func TestWaitEndsWithItsParent(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home")}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	admin := k.admin()
	created, _ := k.made(admin, "project:create", map[string]any{"name": "Shop"})
	project := created["projectId"]
	task, _ := k.made(admin, "task:create", map[string]any{"project": project, "title": "Work"})
	k.made(admin, "queue:create", map[string]any{"project": project, "queue": "work"})
	waiting := make(chan struct{}, 100)
	target, err := url.Parse(k.address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.URL.Query().Has("wait") {
				waiting <- struct{}{}
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
	})
	defer proxy.Close()
	var last string
	for _, args := range []string{"queue start --wait", "report needs-input Which? --wait"} {
		spawn := map[string]any{"project": project, "strategy": "queue", "queue": "work"}
		session, answer := k.made(admin, "session:spawn", spawn)
		last = session["sessionId"].(string)
		// Another command follows, so that the shell does not replace itself by the first one.
		shell := exec.Command("sh", "-c", "maestro "+args+" --timeout 20s; echo late")
		shell.Env = append(os.Environ(), "MAESTRO_HOME="+filepath.Join(t.TempDir(), "home"),
			"MAESTRO_API_URL="+proxy.URL, "MAESTRO_SESSION_ID="+last, "MAESTRO_TOKEN="+answer.Token)
		// The command keeps its end of the pipe open until it ends.
		said, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		shell.Stderr = theirs
		if err := errors.Join(shell.Start(), theirs.Close()); err != nil {
			t.Fatal(err)
		}
		<-waiting
		if err := shell.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = shell.Wait()
		words, err := io.ReadAll(said)
		_ = said.Close()
		if err != nil || !strings.Contains(string(words), "The process that started this command has ended") {
			t.Errorf("%s: %v; it said %q", args, err, words)
		}
	}
	k.made(admin, "queue:push", map[string]any{"project": project, "queue": "work", "taskId": task["taskId"]})
	k.made(admin, "session:message", map[string]any{"sessionId": last, "text": "Hello"})
	box, err := admin.Mail(t.Context(), last)
	if err != nil || len(box.Mail) != 1 {
		t.Errorf("%v; the mailbox holds %+v", err, box)
	}
	queues, err := admin.Queues(t.Context(), wire.QueueFilter{})
	if err != nil || len(queues) != 1 || queues[0].Stats.Queued != 1 || queues[0].Stats.Processing != 0 {
		t.Errorf("%v; the queues are %+v", err, queues)
	}
}
