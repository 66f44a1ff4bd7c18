package main

import (
	"bytes"
	"flag"
	"fmt"
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
	"maestro/events"
)

var away = flag.Duration("away", 0,
	"how long the server is away under reporting sessions; 0: until each has kept some reports")

const awaySessions = 16

// TestServerAwayLosesNoReport has 16 sessions report through the real command line, one process per report, while the
// server is killed, stays away, and returns. Every report that exited with 0 must be in the log exactly once, in the
// order of its session.
func TestServerAwayLosesNoReport(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	project, _ := k.made(k.admin(), "project:create", map[string]any{"name": "Away"})
	said := make([]sayer, awaySessions)
	for i := range said {
		task, _ := k.made(k.admin(), "task:create", map[string]any{
			"project": project["projectId"],
			"title":   fmt.Sprint("Task ", i),
		})
		data, spawned := k.made(k.admin(), "session:spawn", map[string]any{
			"project": project["projectId"],
			"taskIds": []any{task["taskId"]},
		})
		// Half of them share the server's home, so the server delivers for them too.
		box := k.home
		if i%2 == 0 {
			box = filepath.Join(t.TempDir(), "home")
		}
		said[i].k, said[i].id, said[i].token, said[i].home = k, data["sessionId"].(string), spawned.Token, box
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range said {
		all.Go(func() { said[i].talk(stop) })
	}
	k.until("each session has reported", func() bool {
		return least(said,
			func(s *sayer) int64 { return s.said.Load() }) >= 3
	})
	k.restart(func() {
		if *away > 0 {
			time.Sleep(*away) // what the flag is for
		}
		k.until("each session has kept reports", func() bool {
			return least(said,
				func(s *sayer) int64 { return s.kept.Load() }) >= 3
		})
	})
	k.until("each session has delivered", func() bool {
		return least(said, func(s *sayer) int64 { return s.said.Load() - s.kept.Load() }) >= 6
	})
	close(stop)
	all.Wait()
	k.judge(0)
	spoken := k.spoken()
	kept := int64(0)
	for i := range said {
		want := make([]string, said[i].said.Load())
		for n := range want {
			want[n] = fmt.Sprint(n)
		}
		if got := spoken[said[i].id]; !slices.Equal(got, want) {
			t.Errorf("session %d said 0 to %d, and the log has %v", i, len(want)-1, got)
		}
		kept += said[i].kept.Load()
	}
	t.Logf("%d sessions, %d reports kept while the server was away", len(said), kept)
}

// sayer is a session whose agent reports through the command line.
type sayer struct {
	k               *killed
	id, token, home string
	said, kept      atomic.Int64
}

func least(said []sayer, count func(*sayer) int64) int64 {
	low := count(&said[0])
	for i := range said {
		low = min(low, count(&said[i]))
	}
	return low
}

// talk reports 0, 1, 2, … until it is told to stop; each must exit 0.
func (s *sayer) talk(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		cmd := exec.CommandContext(s.k.t.Context(), "maestro", "report", "progress", fmt.Sprint(n))
		cmd.Env = append(os.Environ(), "MAESTRO_HOME="+s.home, "MAESTRO_API_URL="+s.k.address,
			"MAESTRO_SESSION_ID="+s.id, "MAESTRO_TOKEN="+s.token)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			s.k.t.Errorf("report %d of %s: %v\n%s", n, s.id, err, out.String())
			return
		}
		s.said.Add(1)
		if strings.Contains(out.String(), "kept, ") {
			s.kept.Add(1)
		}
	}
}

// until waits until a condition holds.
func (k *killed) until(what string, holds func() bool) {
	k.t.Helper()
	if !comes(func() bool { return k.t.Failed() || holds() }) {
		k.t.Fatalf("waited in vain until %s\n%s", what, k.stderr.String())
	}
}

// spoken returns the reports of each session, in the log's order.
func (k *killed) spoken() map[string][]string {
	k.t.Helper()
	found := map[string][]string{}
	for line := range strings.Lines(k.export(k.admin())) {
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
		if report, ok := event.Data.(*events.SessionReported); ok {
			found[report.SessionID] = append(found[report.SessionID], report.Message)
		}
	}
	return found
}
