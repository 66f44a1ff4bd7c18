package service

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"maestro/internal/disk"
	"maestro/projections"
	"maestro/workers/outbox"
)

// resumed is a session of a runner that ended, on a machine with an outbox.
type resumed struct {
	*fleet
	home     *disk.Root
	delivery *Delivery
	box      *outbox.Outbox
	log      bytes.Buffer
	// claimed is when its run began: what was said then was said before its end.
	claimed time.Time
}

func newResumed(t *testing.T) *resumed {
	t.Helper()
	home, err := disk.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	x := &resumed{fleet: newFleet(t), home: home}
	x.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
	x.delivery = x.Deliver(home)
	local := x.caller(x.runnerToken("local"))
	x.claim(local, x.session)
	x.claimed = time.Now()
	x.do(local, "session:exited", `{"sessionId":"`+x.session+`","run":1,"signal":"killed"}`)
	x.box = x.with(x.secret)
	return x
}

// with returns the outbox of the session, opened with one of its secrets.
func (x *resumed) with(secret string) *outbox.Outbox {
	x.Helper()
	box, err := outbox.Open(x.home, x.session, func() string { return secret })
	if err != nil {
		x.Fatal(err)
	}
	return box
}

func (x *resumed) keep(key string) {
	x.Helper()
	if _, err := x.box.Keep(x.Context(), outbox.Entry{
		Command:    "report:progress",
		Body:       []byte(`{"message":"said ` + key + `"}`),
		Key:        key,
		OccurredAt: x.claimed,
	}); err != nil {
		x.Fatal(err)
	}
}

// counts returns how many commands were set aside as damaged, and as those of an earlier run.
func (x *resumed) counts() (damaged, replaced int) {
	x.Helper()
	aside, err := outbox.SetAside(x.Context(), x.home)
	if err != nil {
		x.Fatal(err)
	}
	earlier, err := outbox.Replaced(x.Context(), x.home)
	if err != nil {
		x.Fatal(err)
	}
	return aside[x.session], earlier[x.session]
}

// What a session kept arrives before its resume replaces the secret that proves it.
func TestResumeDeliversWhatWasKept(t *testing.T) {
	x := newResumed(t)
	for _, key := range []string{"a", "b"} {
		x.keep(key)
	}
	head := func() (n uint64) {
		x.Handler.View(func(s *projections.State) { n = s.Head().Sequence })
		return n
	}
	before := head()
	x.do(x.lead, "session:resume", `{"sessionId":"`+x.session+`"}`)
	if n, err := x.box.Waiting(); err != nil || n != 0 {
		t.Errorf("%d commands wait, %v", n, err)
	}
	if damaged, replaced := x.counts(); damaged+replaced > 0 {
		t.Errorf("%d commands are damaged, and %d of an earlier run", damaged, replaced)
	}
	if n := head() - before; n != 3 {
		t.Errorf("%d events are new, not two reports and the resume:\n%s", n, x.log.String())
	}
}

// What an earlier run keeps afterwards is not delivered, but nobody calls it damaged: it is recorded, set aside once,
// and said once.
func TestEntriesOfAnEarlierRun(t *testing.T) {
	x := newResumed(t)
	x.do(x.lead, "session:resume", `{"sessionId":"`+x.session+`"}`)
	x.keep("late")
	for range 2 {
		x.delivery.all(x.Context())
	}
	x.Deliver(x.home).all(x.Context()) // after a restart
	if damaged, replaced := x.counts(); damaged != 0 || replaced != 1 {
		t.Errorf("%d commands are damaged, and %d of an earlier run", damaged, replaced)
	}
	if said := x.log.String(); strings.Contains(said, "ERROR") || strings.Count(said, "with a replaced secret") != 1 {
		t.Errorf("the log says\n%s", said)
	}
	// An agent of the next run, which cannot check the proof, says the same.
	x.keep("later")
	now := SessionToken(x.Keys.ServerKey, x.session, FirstGeneration+1)
	reject := func(context.Context, outbox.Unproven) error { return nil }
	d, err := x.with(now).Deliver(x.Context(), time.Second, nil, reject)
	if err != nil || len(d.Damaged) != 1 || !d.Damaged[0].Replaced ||
		!strings.Contains(d.Damaged[0].Why, "earlier secret of the session") {
		t.Errorf("%+v, %v", d, err)
	}
}
