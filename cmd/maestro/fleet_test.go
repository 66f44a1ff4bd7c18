package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/events"
	"maestro/internal/oracle"
	"maestro/service/wire"
)

var (
	queueRounds = flag.Int("queue-rounds", 1, "how often a fleet works through a queue")
	queueItems  = flag.Int("queue-items", 300, "items of that queue")
)

const fleetSize = 32

// fleet is 32 workers on one queue, some of which die while they hold an item.
type fleet struct {
	*killed
	project string
	items   int

	done    atomic.Int64 // items completed
	deaths  atomic.Int64
	started atomic.Int64
	refused atomic.Int64 // completions that arrived after the item was returned
}

// TestFleetFinishesItsQueue has 32 sessions pull from one queue over HTTP. Sessions that hold an item die at random,
// some killed by the user and some silently, and the server is killed three times. Each item must be completed by one
// session, and be held by one session at a time; the audit and the oracle must find no fault.
func TestFleetFinishesItsQueue(t *testing.T) {
	t.Parallel()
	for round := range *queueRounds {
		seed := rand.Uint64()
		t.Logf("round %d, seed %d", round, seed)
		runFleet(t, rand.New(rand.NewPCG(seed, 0)))
	}
}

func runFleet(t *testing.T, random *rand.Rand) {
	f := &fleet{items: *queueItems, killed: &killed{
		t:     t,
		home:  filepath.Join(t.TempDir(), "home"),
		acked: map[string]client.Answer{},
		options: []string{
			"--lease",
			"2s",
		},
	}}
	f.start()
	defer func() { _ = f.process.Process.Kill(); _ = f.process.Wait() }()
	f.fill()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range fleetSize {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
		all.Go(func() { f.work(ctx, i, own) })
	}
	for range 3 {
		f.untilDone(f.done.Load() + 1 + random.Int64N(int64(f.items/4)))
		f.restart(func() {})
	}
	f.untilDone(int64(f.items))
	cancel()
	all.Wait()
	f.judgeQueue()
}

// fill creates the project, its tasks, of which every seventh waits for the one before, and the queue.
func (f *fleet) fill() {
	f.t.Helper()
	admin := f.admin()
	project, _ := f.made(admin, "project:create", map[string]any{"name": "Fleet"})
	f.project = project["projectId"].(string)
	f.made(admin, "queue:create", map[string]any{
		"project": f.project, "queue": "work", "trustReports": true,
		"maxAttempts": 1000,
	})
	before := ""
	for i := range f.items {
		body := map[string]any{"project": f.project, "title": fmt.Sprint("Item ", i)}
		if i%7 == 6 {
			body["dependencies"] = []string{before}
		}
		task, _ := f.made(admin, "task:create", body)
		before = task["taskId"].(string)
		f.made(admin, "queue:push", map[string]any{"project": f.project, "queue": "work", "taskId": before})
	}
}

// work runs one worker after another: when one dies, it spawns the next.
func (f *fleet) work(ctx context.Context, place int, random *rand.Rand) {
	for life := 0; ctx.Err() == nil; life++ {
		if err := f.live(ctx, fmt.Sprintf("%d.%d", place, life), random); err != nil && ctx.Err() == nil {
			f.t.Errorf("worker %d, life %d: %v", place, life, err)
			return
		}
	}
}

// live runs one session until it ends.
func (f *fleet) live(ctx context.Context, name string, random *rand.Rand) error {
	admin := f.admin()
	spawned, err := f.ask(admin, "session:spawn", map[string]any{
		"project": f.project, "strategy": "queue",
		"queue": "work", "name": name,
	}, client.Options{Key: "spawn " + name})
	if err != nil {
		return err
	}
	id := f.data(spawned)["sessionId"].(string)
	alive, die := context.WithCancel(ctx)
	var beating sync.WaitGroup
	heard := make(chan struct{})
	beating.Go(func() { f.beat(alive, id, spawned.Token, heard) })
	defer beating.Wait()
	defer die()
	select { // a session that dies before its first heartbeat has a lease of a quarter of an hour
	case <-heard:
	case <-ctx.Done():
	}
	c := client.New(f.address, spawned.Token)
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprint(n)
		answer, err := f.ask(c, "queue:start", map[string]any{}, client.Options{Key: "start " + key, Wait: time.Second})
		if err != nil {
			return err
		}
		if answer.Event == nil {
			continue
		}
		f.started.Add(1)
		if random.IntN(12) == 0 {
			f.deaths.Add(1)
			if random.IntN(2) == 0 {
				_, err = f.ask(admin, "session:kill", map[string]any{"sessionId": id}, client.Options{Key: "kill " +
					name})
			}
			return err // or silently: it is lost when its lease expires
		}
		_, err = f.ask(c, "queue:complete", map[string]any{"taskId": f.data(answer)["taskId"]},
			client.Options{Key: "complete " + key})
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusConflict:
			f.refused.Add(1) // it was marked lost, which can happen if its process gets no processor time
		case err != nil:
			return err
		default:
			f.done.Add(1)
		}
	}
	return nil
}

// beat is the session's supervisor: it sends heartbeats, and closes heard when the server has answered the first one.
func (f *fleet) beat(ctx context.Context, session, token string, heard chan struct{}) {
	tell := sync.OnceFunc(func() { close(heard) })
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.address+"/api/sessions/"+session+"/heartbeat",
			http.NoBody)
		if err != nil {
			f.t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if resp, err := http.DefaultClient.Do(req); err == nil { // while the server is away, heartbeats are retried
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusNoContent {
				tell()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// untilDone waits until n items are completed.
func (f *fleet) untilDone(n int64) {
	f.t.Helper()
	deadline := time.After(4 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for f.done.Load() < n && !f.t.Failed() {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("only %d of %d items were completed\n%s", f.done.Load(), n, f.stderr.String())
		}
	}
}

// judgeQueue checks the promises of a queue in the log.
func (f *fleet) judgeQueue() {
	f.t.Helper()
	admin := f.admin()
	f.judge(0)
	queue, err := admin.Queue(f.t.Context(), wire.QueueName{Name: "work", ProjectID: f.project})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, item := range queue.Items {
		if item.Status != events.ItemCompleted {
			f.t.Errorf("item %s is %s in the end", item.TaskID, item.Status)
		}
	}
	text := f.export(admin)
	verdict, err := oracle.Read(strings.NewReader(text))
	if err != nil || len(verdict.Faults) > 0 || verdict.Judged != verdict.Events {
		f.t.Errorf("the oracle: %+v, %v", verdict, err)
	}
	holder, completed, returns := map[string]string{}, map[string]int{}, 0
	for line := range strings.Lines(text) {
		if export.IsEnd([]byte(line)) {
			break
		}
		l, err := export.ReadLine([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			f.t.Fatal(err)
		}
		event, err := events.Decode(l.Body())
		if err != nil {
			f.t.Fatal(err)
		}
		switch d := event.Data.(type) {
		case *events.QueueItemStarted:
			if holder[d.TaskID] != "" {
				f.t.Errorf("item %s was started by %s while %s held it", d.TaskID, d.SessionID, holder[d.TaskID])
			}
			holder[d.TaskID] = d.SessionID
		case *events.QueueItemCompleted:
			if holder[d.TaskID] != d.SessionID {
				f.t.Errorf("item %s was completed by %s while %q held it", d.TaskID, d.SessionID, holder[d.TaskID])
			}
			holder[d.TaskID] = ""
			completed[d.TaskID]++
		case *events.QueueItemReturned:
			holder[d.TaskID] = ""
			returns++
		}
	}
	for task, times := range completed {
		if times != 1 {
			f.t.Errorf("item %s was completed %d times", task, times)
		}
	}
	if len(completed) != f.items {
		f.t.Errorf("%d items were completed, there are %d", len(completed), f.items)
	}
	if f.deaths.Load() == 0 || returns == 0 {
		f.t.Errorf("%d sessions died and %d items came back: the test shows nothing", f.deaths.Load(), returns)
	}
	f.t.Logf("%d items, %d starts, %d deaths, %d items came back, %d late completions refused, %d "+
		"events judged by the oracle",
		f.items, f.started.Load(), f.deaths.Load(), returns, f.refused.Load(), verdict.Judged)
}

func (k *killed) export(admin *client.Client) string {
	k.t.Helper()
	body, err := admin.Export(k.t.Context(), client.Exported{})
	if err != nil {
		k.t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(text)
}
