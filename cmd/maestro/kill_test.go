package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/engine"
	"maestro/events"
)

var killRounds = flag.Int("kill-rounds", 3, "how often the server is killed with -9 under load")

const reporters = 32

// killed is a server that is killed and restarted, and what it acknowledged.
type killed struct {
	t       *testing.T
	home    string
	address string
	process *exec.Cmd
	options []string // of serve
	stderr  shared
	up      atomic.Pointer[chan struct{}] // closed when the server answers again

	mu    sync.Mutex
	acked map[string]client.Answer // by event id
	count atomic.Int64
}

// TestKilledServerLosesNothing kills the real server with -9 under 32 concurrent reporters, which repeat unanswered
// reports with the same key. Every acknowledged report must be in the log exactly once, at its acknowledged sequence;
// the audit must find no fault; and the views rebuilt from an export must equal the server's, byte for byte.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	sessions := k.sessions()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for round := range *killRounds {
		before := k.count.Load()
		stop := make(chan struct{})
		var all sync.WaitGroup
		for i, session := range sessions {
			all.Go(func() { k.report(session, fmt.Sprintf("%d-%d", round, i), stop) })
		}
		k.waitFor(before + 50 + random.Int64N(1500))
		k.restart(func() {})
		k.waitFor(k.count.Load() + 2*reporters)
		close(stop)
		all.Wait()
		k.judge(round)
	}
}

// restart kills the server with -9, does something while it is down, and starts it again.
func (k *killed) restart(while func()) {
	k.t.Helper()
	down := make(chan struct{})
	k.up.Store(&down)
	if err := k.process.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = k.process.Wait()
	while()
	k.start()
	close(down)
}

// start starts the server at its address and waits until it answers.
func (k *killed) start() {
	k.t.Helper()
	binary, err := exec.LookPath("maestro")
	if err != nil {
		k.t.Fatal(err)
	}
	listen := ownHost() + ":0"
	if k.address != "" {
		listen = strings.TrimPrefix(k.address, "http://")
	}
	args := append([]string{"serve", "--listen", listen}, k.options...)
	if !slices.Contains(args, "--runner") { // its sessions are played by the tests
		args = append(args, "--no-runner")
	}
	k.process = exec.Command(binary, args...)
	k.process.Env = append(os.Environ(), "MAESTRO_HOME="+k.home)
	k.process.Stderr = &k.stderr
	stdout, err := k.process.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.process.Start(); err != nil {
		k.t.Fatal(err)
	}
	// The server's first line says where it listens.
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		k.t.Fatalf("the server did not start: %v\n%s", err, k.stderr.String())
	}
	_, rest, _ := strings.Cut(line, "listening on ")
	if k.address == "" { // it comes back to the same one, and others may be reading it
		k.address, _, _ = strings.Cut(rest, " ")
	}
	ready := make(chan struct{})
	close(ready)
	k.up.CompareAndSwap(nil, &ready)
}

func (k *killed) admin() *client.Client {
	token, err := os.ReadFile(filepath.Join(k.home, "admin.token"))
	if err != nil {
		k.t.Fatal(err)
	}
	return client.New(k.address, strings.TrimSpace(string(token)))
}

// made executes a command and returns its event's data.
func (k *killed) made(c *client.Client, id string, body any) (map[string]any, client.Answer) {
	k.t.Helper()
	answer, err := c.Do(k.t.Context(), id, body, client.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	return k.data(answer), answer
}

func (k *killed) data(answer client.Answer) map[string]any {
	var event struct {
		Data map[string]any `json:"data"`
	}
	if answer.Event != nil && json.Unmarshal(answer.Event, &event) != nil {
		k.t.Errorf("an answer cannot be read: %s", answer.Event)
	}
	return event.Data
}

// reporter is a session with its secret and its task.
type reporter struct {
	client *client.Client
	task   string
}

// sessions spawns a session with a task of its own for each reporter.
func (k *killed) sessions() []reporter {
	k.t.Helper()
	admin := k.admin()
	made := func(id string, body any) (map[string]any, client.Answer) { return k.made(admin, id, body) }
	project, _ := made("project:create", map[string]any{"name": "Killed"})
	all := make([]reporter, reporters)
	for i := range all {
		task, _ := made("task:create", map[string]any{"project": project["projectId"], "title": fmt.Sprint("Task ", i)})
		_, spawned := made("session:spawn", map[string]any{
			"project": project["projectId"],
			"taskIds": []any{task["taskId"]},
		})
		all[i] = reporter{client.New(k.address, spawned.Token), task["taskId"].(string)}
	}
	return all
}

// report sends reports until it is told to stop, and repeats unanswered ones with the same key.
func (k *killed) report(r reporter, prefix string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		key := fmt.Sprintf("%s-%d", prefix, i)
		answer, err := k.untilAnswered(r, key)
		if err != nil {
			k.t.Errorf("report %s: %v", key, err)
			return
		}
		var event struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(answer.Event, &event); err != nil {
			k.t.Errorf("report %s: %v", key, err)
			return
		}
		k.mu.Lock()
		k.acked[event.ID] = answer
		k.mu.Unlock()
		k.count.Add(1)
	}
}

func (k *killed) untilAnswered(r reporter, key string) (client.Answer, error) {
	return k.ask(r.client, "report:progress", map[string]any{"message": "report " + key, "taskIds": []string{r.task}},
		client.Options{Key: key})
}

// ask sends a command until it gets an answer, always with the same key.
func (k *killed) ask(c *client.Client, id string, body any, o client.Options) (client.Answer, error) {
	for {
		up := *k.up.Load()
		answer, err := c.Do(k.t.Context(), id, body, o)
		var away *client.ConnectionError
		var refused *client.Error
		switch {
		case errors.As(err, &away), errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable:
			select {
			case <-up:
			case <-k.t.Context().Done():
				return answer, k.t.Context().Err()
			}
		default:
			return answer, err
		}
	}
}

// waitFor waits until n reports were acknowledged.
func (k *killed) waitFor(n int64) {
	k.t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for k.count.Load() < n {
		select {
		case <-tick.C:
		case <-deadline:
			k.t.Fatalf("only %d of %d reports were acknowledged\n%s", k.count.Load(), n, k.stderr.String())
		}
	}
}

// judge compares the log with what was acknowledged, and the server's views with rebuilt ones.
func (k *killed) judge(round int) {
	k.t.Helper()
	admin := k.admin()
	verdict, rebuilt, at := k.verdicts(admin)
	for _, fault := range verdict.Faults {
		k.t.Errorf("round %d: sequence %d: %s", round, fault.Sequence, fault.What)
	}
	if rebuilt.Views != verdict.Views || rebuilt.Head != verdict.Head || len(rebuilt.Faults) > 0 {
		k.t.Errorf("round %d: rebuilt from an export: %+v\nthe server's: %+v", round, rebuilt, verdict)
	}
	for id, answer := range k.acked {
		if places := at[id]; len(places) != 1 || places[0] != answer.Sequence {
			k.t.Errorf("round %d: event %s was acknowledged at %d and stands at %v", round, id, answer.Sequence, places)
		}
	}
	k.t.Logf("round %d: %d acknowledged, %d in the log, views %s", round, len(k.acked), verdict.Events, verdict.Views)
}

// verdicts returns the verdicts on the server's log and on an export with the same head: the system may write events in
// between.
func (k *killed) verdicts(admin *client.Client) (verdict, rebuilt engine.Verdict, at map[string][]uint64) {
	k.t.Helper()
	for {
		var err error
		if verdict, err = admin.Verify(k.t.Context(), ""); err != nil {
			k.t.Fatal(err)
		}
		if rebuilt, at = k.rebuild(admin); rebuilt.Head.Sequence == verdict.Head.Sequence {
			return verdict, rebuilt, at
		}
	}
}

// rebuild judges an export without the server, and returns the sequence of each event.
func (k *killed) rebuild(admin *client.Client) (engine.Verdict, map[string][]uint64) {
	k.t.Helper()
	text := k.export(admin)
	at := map[string][]uint64{}
	for line := range strings.Lines(text) {
		if export.IsEnd([]byte(line)) {
			break
		}
		l, err := export.ReadLine([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			k.t.Fatal(err)
		}
		event, err := events.Decode(l.Body())
		if err != nil {
			k.t.Fatal(err)
		}
		at[event.ID.String()] = append(at[event.ID.String()], l.Sequence)
	}
	verdict, err := export.VerifyExport(strings.NewReader(text), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	return verdict.Verdict, at
}
