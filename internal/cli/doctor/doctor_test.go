package doctor

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"maestro/events"
	"maestro/internal/server/metrics"
	"maestro/service/wire"
	"maestro/workers/supervisor"
)

// Each figure is a finding from its bound on, and none below it.
func TestFiguresBecomeFindings(t *testing.T) {
	for _, c := range []struct {
		figure    string
		well, bad float64
		want      *Kind
	}{
		{"maestro_collect_failures_total", 0, 1, metricsMissing},
		{`maestro_projection_lag_events{projection="state"}`, lagMost - 1, lagMost, projectionLag},
		{`maestro_projection_lag_events{projection="live"}`, lagMost - 1, lagMost, projectionLag},
		{"maestro_commands_waiting", waitingMost - 1, waitingMost, commandsWaiting},
		{`maestro_streams_dropped_total{kind="live"}`, droppedMost - 1, droppedMost, streamsDropped},
		{`maestro_queue_items{status="quarantined"}`, 0, 1, itemsQuarantined},
		{`maestro_queue_items{status="queued"}`, 0, 1, nil},
		{"maestro_queue_oldest_ready_seconds", 3599, 3600, itemsWaiting},
		{`maestro_limit_refusals_total{limit="session-commands"}`, refusedMost - 1, refusedMost, limitRefuses},
		{`maestro_sessions{status="lost"}`, 0, 1, sessionsLost},
		{"maestro_log_events", eventsMost - 1, eventsMost, logLarge},
		{"maestro_disk_free_bytes", bytesLeast, bytesLeast - 1, diskLow},
		{"maestro_disk_free_bytes", bytesLeast, 1 << 20, diskFull},
		{"maestro_disk_free_files", filesLeast, filesLeast - 1, filesLow},
		{`maestro_durability_info{mode="always"}`, 1, 1, nil},
		{`maestro_durability_info{mode="interval"}`, 1, 1, durability},
	} {
		for value, want := range map[float64]*Kind{c.well: nil, c.bad: c.want} {
			if c.well == c.bad {
				want = c.want
			}
			x := &examination{figures: parsed(t, fmt.Sprintf("%s %g\n", c.figure, value))}
			found := x.ofFigures()
			checkFindings(t, found)
			switch {
			case want == nil && len(found) > 0:
				t.Errorf("%s %g: found %+v", c.figure, value, found)
			case want != nil && (len(found) != 1 || found[0].ID != want.ID):
				t.Errorf("%s %g: found %+v, want %s", c.figure, value, found, want.ID)
			}
		}
	}
}

func parsed(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// One in a hundred may be slow. Of few, nobody can say how many are.
func TestSlowFigures(t *testing.T) {
	for name, c := range map[string]struct {
		figure, bucket string
		want           *Kind
	}{
		"appends":  {"maestro_append_duration_seconds", "0.25", appendsSlow},
		"commands": {"maestro_command_wait_seconds", "1", commandsSlow},
	} {
		for _, of := range []struct {
			all, slow int
			bad       bool
		}{{1000, 10, false}, {1000, 11, true}, {99, 99, false}, {100, 2, true}, {0, 0, false}} {
			x := &examination{figures: parsed(t, fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket{le=\"0.1\"} 0\n"+
				"%[1]s_bucket{le=\"%[2]s\"} %[3]d\n%[1]s_bucket{le=\"+Inf\"} %[4]d\n%[1]s_sum 7\n%[1]s_count %[4]d\n",
				c.figure, c.bucket, of.all-of.slow, of.all))}
			found := x.ofFigures()
			checkFindings(t, found)
			if bad := len(found) == 1 && found[0].ID == c.want.ID; bad != of.bad || len(found) > 1 {
				t.Errorf("%s, %d of %d: found %+v", name, of.slow, of.all, found)
			}
		}
	}
}

// The bounds are those of buckets that the server has.
func TestServersFiguresTellSlowness(t *testing.T) {
	for took, want := range map[time.Duration]int{slowAppend: 0, slowCommand: 1, slowCommand + time.Millisecond: 2} {
		m := metrics.New("v", slog.New(slog.DiscardHandler))
		for range slowLeast {
			m.Appended(1, took)
			m.Waited(took)
		}
		answer := httptest.NewRecorder()
		m.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		m.Close()
		found := (&examination{figures: parsed(t, answer.Body.String())}).ofWaits()
		if checkFindings(t, found); len(found) != want {
			t.Errorf("all take %s: found %+v", took, found)
		}
	}
}

// checkFindings checks that each finding says why it matters and what to do.
func checkFindings(t *testing.T, found []Finding) {
	t.Helper()
	for _, f := range found {
		if f.What == "" || f.Why == "" || f.Next == "" {
			t.Errorf("the finding says too little: %+v", f)
		}
		if !slices.ContainsFunc(Kinds(), func(k *Kind) bool { return k.ID == f.ID && k.Severity == f.Severity }) {
			t.Errorf("the finding is not listed: %+v", f)
		}
	}
}

func TestRefusalsThatRise(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	denied := func(ago time.Duration, count int) wire.Denial {
		var d wire.Denial
		d.Actor, d.Command, d.Count = "/users/eve", "task:delete", count
		d.Last = events.Millis(now.Add(-ago).UnixMilli())
		return d
	}
	of := func(actor string, d wire.Denial) wire.Denial {
		d.Actor = actor
		return d
	}
	session := of("/projects/proj_1/sessions/sess_1", denied(time.Minute, 30))
	if found := ofRefusals([]wire.Denial{session, of("/users/admin", denied(time.Minute, 40))}, now); len(found) != 1 ||
		!strings.HasPrefix(found[0].What, "30 refusals in the last 15 minutes, most from sess_1 with task:delete") ||
		!strings.Contains(found[0].Why, "the agent of this session") {
		t.Errorf("found %+v", found)
	}
	for name, c := range map[string]struct {
		denials []wire.Denial
		rise    bool
	}{
		"none":           {},
		"few":            {[]wire.Denial{denied(time.Minute, refusedLeast-1)}, false},
		"many at once":   {[]wire.Denial{denied(time.Minute, refusedLeast)}, true},
		"long ago":       {[]wire.Denial{denied(2*time.Hour, 1000)}, false},
		"as many before": {[]wire.Denial{denied(time.Minute, 40), denied(30*time.Minute, 60)}, false},
		"more than that": {[]wire.Denial{denied(time.Minute, 41), denied(30*time.Minute, 60)}, true},
		"very many":      {[]wire.Denial{denied(time.Minute, 40e6), denied(30*time.Minute, 60e6)}, false},
		// The records reach back for 25 minutes, and the last ten of these had as many as the 15 before.
		"a full page": {slices.Concat(slices.Repeat([]wire.Denial{denied(time.Minute, 1)}, 600),
			slices.Repeat([]wire.Denial{denied(25*time.Minute, 1)}, 400)), false},
		"the user's own": {[]wire.Denial{of("/users/admin", denied(time.Minute, 1000))}, false},
		// With the user's own, the records reach back for 75 minutes: before, there were no other refusals.
		"a full page, mostly the user's own": {slices.Concat(slices.Repeat([]wire.Denial{denied(time.Minute, 1)}, 600),
			slices.Repeat([]wire.Denial{of("/users/admin", denied(75*time.Minute, 1))}, 400)), true},
		"a full page of now": {slices.Repeat([]wire.Denial{denied(time.Minute, 1)}, comparedMost), true},
	} {
		found := ofRefusals(c.denials, now)
		checkFindings(t, found)
		if rise := len(found) == 1 && found[0].ID == refusalsRising.ID; rise != c.rise {
			t.Errorf("%s: found %+v", name, found)
		}
		if c.rise && (!strings.Contains(found[0].What, "most from the token 'eve' with task:delete") ||
			!strings.Contains(found[0].Why, "a program that uses this token")) {
			t.Errorf("%s: it does not say who: %+v", name, found)
		}
		unknown := c.rise && strings.Contains(found[0].Why, "nobody can say")
		if unknown != (name == "a full page of now") {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// A runner leaves the supervisors in terminals alone: neither does one hold a place of it, nor does it end one.
func TestHangingSupervisorInATerminal(t *testing.T) {
	for runner, inTerminal := range map[string]bool{wire.TerminalRunner: true, "local": false} {
		found := ofHanging("sess_1", supervisor.Saved{Runner: runner, PID: 7})
		checkFindings(t, []Finding{found})
		if strings.Contains(found.Why, "places") == inTerminal ||
			strings.Contains(found.Next, "`fg` in its terminal") != inTerminal ||
			strings.Contains(found.Next, "once it is continued") != inTerminal ||
			!strings.Contains(found.Next, "`kill -CONT 7`") {
			t.Errorf("%s: %+v", runner, found)
		}
	}
}

// The ids are unique, because programs match on them.
func TestKindsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range Kinds() {
		if seen[kind.ID] || kind.About == "" {
			t.Errorf("%+v is there twice, or says nothing", kind)
		}
		seen[kind.ID] = true
	}
}
