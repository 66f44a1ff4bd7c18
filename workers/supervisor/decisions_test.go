package supervisor

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"maestro/workers/blank"
)

// course is a list of what happens to a decisions; the graces end when it says so.
type course struct {
	t       *testing.T
	d       *decisions
	log     bytes.Buffer
	expires map[int]func()
	next    int
	told    []string
}

func newCourse(t *testing.T) *course {
	c := &course{t: t, expires: map[int]func(){}}
	c.d = newDecisions(&c.log, blank.Of("a-secret-of-the-agent").Blank, slog.New(slog.DiscardHandler),
		func(_, what string) { c.told = append(c.told, what) })
	c.d.after = func(_ time.Duration, then func()) func() bool {
		id := c.next
		c.next++
		c.expires[id] = then
		return func() bool {
			_, running := c.expires[id]
			delete(c.expires, id)
			return running
		}
	}
	return c
}

func (c *course) decides(key string, allowed bool) {
	c.t.Helper()
	c.ends(c.d.begin(key), allowed)
}

// ends makes a decision that was begun.
func (c *course) ends(about asked, allowed bool) {
	c.t.Helper()
	if err := c.d.record(about, decision{Allowed: allowed}); err != nil {
		c.t.Fatal(err)
	}
}

// shows shows the call 1, which is called x.
func (c *course) shows(key string) { c.d.shown("1", key, "T", "x", false) }

// graceEnds ends the grace of all calls that are shown and have no decision.
func (c *course) graceEnds() {
	for id, then := range c.expires {
		delete(c.expires, id)
		then()
	}
}

// TestUnguardedCalls shows which courses of events mean that a call ran without the permission of its hook.
func TestUnguardedCalls(t *testing.T) {
	for name, test := range map[string]struct {
		course func(c *course)
		told   string
	}{
		"decided, then shown": {func(c *course) { c.decides("k", true); c.shows("k") }, ""},
		"shown, then decided": {func(c *course) { c.shows("k"); c.decides("k", true) }, ""},
		"never decided":       {func(c *course) { c.shows("k") }, "x"},
		"ended undecided":     {func(c *course) { c.shows("k"); c.d.returned("1", false) }, "x"},
		"failed undecided":    {func(c *course) { c.shows("k"); c.d.returned("1", true) }, ""},
		"asks no hook":        {func(c *course) { c.shows("") }, ""},
		"another key":         {func(c *course) { c.decides("other", true); c.shows("k") }, "x"},
		"one decision, two calls": {func(c *course) {
			c.decides("k", true)
			c.d.shown("1", "k", "T", "first", false)
			c.d.shown("2", "k", "T", "second", false)
		}, "second"},
		"two decisions, two calls": {func(c *course) {
			c.decides("k", true)
			c.d.shown("1", "k", "T", "first", false)
			c.d.shown("2", "k", "T", "second", false)
			c.decides("k", true)
		}, ""},
		"decision takes long": {func(c *course) {
			c.d.shown("1", "k", "T", "x", false)
			about := c.d.begin("k")
			c.graceEnds()
			c.ends(about, true)
		}, ""},
		"decision takes long, and the call is shown meanwhile": {func(c *course) {
			about := c.d.begin("k")
			c.shows("k")
			c.graceEnds()
			c.ends(about, true)
			c.d.returned("1", false)
		}, ""},
		"decision takes long, and the call runs meanwhile": {func(c *course) {
			c.d.begin("k")
			c.shows("k")
			c.graceEnds()
			c.d.returned("1", false)
		}, "x"},
		"decision takes long, and an equal call has none": {func(c *course) {
			about := c.d.begin("k")
			c.d.shown("1", "k", "T", "first", false)
			c.d.shown("2", "k", "T", "second", false)
			c.graceEnds()
			c.ends(about, true)
		}, "second"},
		"decision takes long, and another call has none": {func(c *course) {
			about := c.d.begin("k")
			c.shows("other")
			c.graceEnds()
			c.ends(about, true)
		}, "x"},
		"the second of two equal calls may run first": {func(c *course) {
			about := c.d.begin("k")
			c.d.shown("1", "k", "T", "first", false)
			c.d.shown("2", "k", "T", "second", false)
			c.decides("k", true)
			c.d.returned("2", false)
			c.graceEnds()
			c.ends(about, true)
			c.d.returned("1", false)
		}, ""},
		"one of two equal calls may run": {func(c *course) {
			c.decides("k", false)
			c.d.shown("1", "k", "T", "first", false)
			c.decides("k", true)
			c.d.returned("1", false)
			c.d.shown("2", "k", "T", "second", false)
			c.d.returned("2", true)
		}, ""},
		"one of two equal calls may run, and both do": {func(c *course) {
			c.decides("k", false)
			c.decides("k", true)
			c.d.shown("1", "k", "T", "first", false)
			c.d.shown("2", "k", "T", "second", false)
			c.d.returned("2", false)
			c.d.returned("1", false)
		}, "first"},
		"decided after its program ended": {func(c *course) {
			about := c.d.begin("k")
			c.shows("k")
			c.d.reset()
			c.ends(about, false)
			c.shows("k")
			c.decides("k", true)
			c.d.returned("1", false)
		}, ""},
		"denied, and failed": {func(c *course) {
			c.decides("k", false)
			c.d.shown("1", "k", "T", "x", false)
			c.d.returned("1", true)
		}, ""},
		"denied, and ran": {func(c *course) {
			c.decides("k", false)
			c.d.shown("1", "k", "T", "x", false)
			c.d.returned("1", false)
		}, "x"},
		"denied after it was shown, and ran": {func(c *course) {
			c.d.shown("1", "k", "T", "x", false)
			c.decides("k", false)
			c.d.returned("1", false)
		}, "x"},
		"denied, and shown as running": {func(c *course) {
			c.decides("k", false)
			c.d.shown("1", "k", "T", "x", true)
		}, "x"},
		"shown as running, then denied": {func(c *course) {
			c.d.shown("1", "k", "T", "x", true)
			c.decides("k", false)
		}, "x"},
		"only the first is told": {func(c *course) {
			c.d.shown("1", "a", "T", "first", false)
			c.d.returned("1", false)
			c.d.shown("2", "b", "T", "second", false)
			c.d.returned("2", false)
		}, "first"},
		"its program ended": {func(c *course) { c.d.shown("1", "k", "T", "x", false); c.d.reset() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourse(t)
			test.course(c)
			c.graceEnds()
			if got := strings.Join(c.told, " "); got != test.told {
				t.Errorf("told %q, want %q", got, test.told)
			}
		})
	}
}

// A decision that cannot be written down counts as a denial: the hook denies it too.
func TestUnwrittenDecision(t *testing.T) {
	c := newCourse(t)
	c.d.file = full{}
	c.d.shown("1", "k", "T", "x", false)
	if err := c.d.record(c.d.begin("k"), decision{Allowed: true}); err == nil {
		t.Error("a decision was recorded on a full disk")
	}
	c.d.returned("1", false)
	if len(c.told) != 1 {
		t.Errorf("told %q", c.told)
	}
}

// The log of decisions has no secret.
func TestDecisionsHaveNoSecret(t *testing.T) {
	c := newCourse(t)
	made := decision{Command: "login a-secret-of-the-agent", Reason: "a-secret-of-the-agent is no path"}
	if err := c.d.record(c.d.begin("k"), made); err != nil {
		t.Fatal(err)
	}
	if log := c.log.String(); strings.Contains(log, "a-secret") || !strings.Contains(log, "login ") {
		t.Errorf("the log is %s", log)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
