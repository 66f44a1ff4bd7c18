package damage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
	"maestro/internal/salvage"
	"maestro/projections"
)

type viewed = *projections.State

var (
	faults = flag.Int("faults", 6, "how many random faults")
	from   = flag.Uint64("from", 1, "the first seed")
)

// state returns the head of the views and their digest.
func (s *server) state(t *testing.T) (events.Head, events.Hash) {
	t.Helper()
	var image *projections.Image
	s.handler.View(func(state viewed) { image = state.Image() })
	encoded, err := image.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return image.Head(), events.BodyHash(encoded)
}

// TestRandomFaults damages a home and checks four things: the fault is noticed, or everything is as before; nothing
// that could be read is lost; a server that continues writing keeps what it writes; and salvage repairs the home.
func TestRandomFaults(t *testing.T) {
	l := live(t)
	counts := map[string]map[string]int{}
	for i := range *faults {
		seed := *from + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			c := &fault{
				t:      t,
				lived:  l,
				random: random,
				dir:    filepath.Join(t.TempDir(), "home"),
			}
			result := c.run()
			if counts[c.kind] == nil {
				counts[c.kind] = map[string]int{}
			}
			counts[c.kind][result]++
			t.Logf("%s: %s", c.what, result)
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %v", kind, counts[kind])
	}
}

type fault struct {
	t      *testing.T
	lived  *lived
	random *rand.Rand
	dir    string
	kind   string
	what   string
	before contents
	noted  bool // while it ran
}

func (c *fault) run() string {
	switch c.random.IntN(3) {
	case 0:
		copyTree(c.t, c.lived.stopped, c.dir)
		c.harm("stopped")
	case 1:
		copyTree(c.t, c.lived.killed, c.dir)
		c.harm("killed")
	case 2:
		copyTree(c.t, c.lived.stopped, c.dir)
		c.running()
	}
	return c.restart()
}

func (c *fault) harm(when string) {
	kind, what, err := harm(c.random, c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	c.kind, c.what = kind, when+", "+kind+": "+what
	c.before = c.files(c.dir)
}

// files returns what can be read of a store. It reads a copy without the lock, because a server may be running.
func (c *fault) files(dir string) contents {
	image := filepath.Join(c.t.TempDir(), "image")
	copyTree(c.t, filepath.Join(dir, "store"), filepath.Join(image, "store"))
	_ = os.Remove(filepath.Join(image, "store", "lock"))
	got, err := stored(c.t.Context(), image, false)
	if err != nil {
		c.t.Fatalf("%s: %v", c.what, err)
	}
	return got
}

// running damages the files of a running server, and reads everything.
func (c *fault) running() {
	s := c.open()
	c.harm("running")
	whole := c.look(s)
	_ = s.bus.Here() // serve looks four times a second
	healthy := s.handler.Health() == nil
	c.noted = !whole
	if !whole && healthy && !c.textsLost(s) {
		c.t.Errorf("%s: the log cannot be read, but the server is healthy", c.what)
	}
	_, err := s.do(c.t.Context(), "while damaged", &commands.CreateProject{Name: "While damaged"})
	if (err == nil) != healthy {
		c.t.Errorf("%s: the server's health is %v, a write answers %v", c.what, s.handler.Health(), err)
	}
	if err := s.close(); err != nil && !errors.Is(err, events.ErrReadOnly) { // it may report that files are missing
		c.t.Errorf("%s: close: %v", c.what, err)
	}
}

func (c *fault) open() *server {
	s, err := open(c.t.Context(), c.dir)
	if err != nil {
		c.t.Fatalf("%s: the home does not open: %v", c.what, err)
	}
	return s
}

// look reads everything and reports whether it is unchanged: the log up to the head, the views at that head, the long
// texts.
func (c *fault) look(s *server) bool {
	whole := true
	var hash events.Hash
	err := s.bus.Read(c.t.Context(), 1, c.lived.head.Sequence, func(m events.Message) error {
		hash = events.Next(hash, events.BodyHash(m.Body))
		return nil
	})
	if err != nil || hash != c.lived.head.Hash {
		whole = false
	}
	if head, views := s.state(c.t); head == c.lived.head && views != c.lived.views {
		c.t.Errorf("%s: the views at %s changed", c.what, head)
	}
	for digest := range c.lived.all.blobs {
		if _, err := s.bus.Blob(c.t.Context(), digest); err != nil {
			whole = false
		}
	}
	return whole
}

// textsLost reports whether an audit names a long text that is lost.
func (c *fault) textsLost(s *server) bool {
	verifier := engine.NewVerifier()
	if err := s.bus.Read(c.t.Context(), 1, c.lived.head.Sequence, func(m events.Message) error {
		verifier.Event(m)
		return nil
	}); err != nil {
		return false
	}
	if err := verifier.CheckTexts(c.t.Context(), s.bus); err != nil {
		return true // the audit fails, and says why
	}
	verdict, err := verifier.Verdict()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range verdict.Faults {
		if f.Rule == engine.FaultText {
			return true
		}
	}
	return false
}

// restart starts the server on the damaged home and checks its promises.
func (c *fault) restart() string {
	s := c.open()
	whole := c.look(s)
	health := s.handler.Health()
	warned := s.warnings.n.Load() > 0
	denials := 0
	_ = s.bus.LoadDenials(c.t.Context(), func(events.StoredDenial) error { denials++; return nil })
	_, wrote := s.do(c.t.Context(), "after", &commands.CreateProject{Name: "After"})
	if (wrote == nil) != (health == nil) {
		c.t.Errorf("%s: the server's health is %v, a write answers %v", c.what, health, wrote)
	}
	result := "healed at the start"
	switch {
	case health != nil && !errors.Is(health, events.ErrReadOnly):
		c.t.Errorf("%s: %v", c.what, health)
	case health != nil:
		result = "read-only"
	case whole && !warned:
		result = "harmless"
	case !whole && !c.textsLost(s):
		c.t.Errorf("%s: something is lost, but not reported", c.what)
	case !whole:
		result = "long texts lost, and named"
	}
	if health == nil && denials < len(c.lived.all.denials) && !warned {
		c.t.Errorf(
			"%s: %d of %d refusals are left, but the loss is not reported",
			c.what,
			denials,
			len(c.lived.all.denials),
		)
	}
	head, _ := s.state(c.t)
	if err := s.close(); err != nil {
		c.t.Errorf("%s: close: %v", c.what, err)
	}
	after, err := stored(c.t.Context(), c.dir, true)
	if err != nil {
		c.t.Fatalf("%s: %v", c.what, err)
	}
	if lost := c.before.lacks(after); len(lost) > 0 {
		c.t.Errorf(
			"%s: this could be read before, but not now: %s",
			c.what,
			strings.Join(lost[:min(8, len(lost))], ", "),
		)
	}
	if health == nil {
		c.again(head)
	} else {
		c.salvage()
	}
	return result
}

// again checks that a write that a server acknowledged is there after another start.
func (c *fault) again(head events.Head) {
	s := c.open()
	if health := s.handler.Health(); health != nil {
		c.t.Errorf("%s: after another start: %v", c.what, health)
	}
	if now, _ := s.state(c.t); now != head {
		c.t.Errorf("%s: the head was %s, after another start it is %s", c.what, head, now)
	}
	if err := s.close(); err != nil {
		c.t.Errorf("%s: close: %v", c.what, err)
	}
}

// salvage checks that salvaging a damaged log with a backup recovers everything, and that a server on the result
// accepts writes.
func (c *fault) salvage() {
	h, err := home.Open(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	alone, err := salvage.Home(c.t.Context(), salvage.Options{
		Home: h, To: filepath.Join(c.t.TempDir(), "alone"), Now: time.Now(),
	})
	if err != nil {
		c.t.Errorf("%s: salvage without a backup: %v", c.what, err)
		return
	}
	if alone.Whole() && alone.Head.Sequence < c.lived.head.Sequence {
		c.t.Errorf("%s: salvage reports the whole log at %s, it was at %s", c.what, alone.Head, c.lived.head)
	}
	to := filepath.Join(c.t.TempDir(), "new")
	report, err := salvage.Home(c.t.Context(), salvage.Options{
		Home: h,
		To:   to,
		With: []string{c.lived.backup},
		Now:  time.Now(),
	})
	if err != nil {
		c.t.Errorf("%s: salvage: %v", c.what, err)
		return
	}
	if report.Head.Sequence < c.lived.head.Sequence || len(report.LostTexts) > 0 {
		c.t.Errorf("%s: salvage reached %s, lost %v", c.what, report.Head, report.LostTexts)
	}
	s, err := open(context.WithoutCancel(c.t.Context()), to)
	if err != nil {
		c.t.Errorf("%s: the salvaged home: %v", c.what, err)
		return
	}
	if _, err := s.do(c.t.Context(), "salvaged", &commands.CreateProject{Name: "Salvaged"}); err != nil || !c.look(s) {
		c.t.Errorf("%s: the salvaged home: a write answers %v", c.what, err)
	}
	if err := s.close(); err != nil {
		c.t.Errorf("%s: close: %v", c.what, err)
	}
}
