package service

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/disk"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// resumed is a session of a runner that ended, on a machine with an outbox.
type resumed struct {
	*fleet
	dir      string
	home     *disk.Root
	delivery *Delivery
	box      *outbox.Outbox
	log      bytes.Buffer
	// claimed is when its run began: what was said then was said before its end.
	claimed time.Time
}

func newResumed(t *testing.T) *resumed {
	t.Helper()
	dir := t.TempDir()
	home, err := disk.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	x := &resumed{fleet: newFleet(t), dir: dir, home: home}
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

// Only who may resume a session causes a delivery: anybody else leaves the outbox as it is, and creates none.
func TestOnlyAnAllowedResumeDelivers(t *testing.T) {
	x := newResumed(t)
	x.keep("a")
	other := x.make(x.admin(), "project:create", `{"name":"Q"}`)
	task := x.make(x.admin(), "task:create", `{"project":"`+other+`","title":"T"}`)
	foreign := x.caller(x.do(x.admin(), "session:spawn",
		`{"project":"`+other+`","taskIds":["`+task+`"],"role":"orchestrator"}`).Token)
	files := func() string {
		t.Helper()
		var names []string
		err := fs.WalkDir(os.DirFS(x.dir), ".", func(path string, _ fs.DirEntry, err error) error {
			names = append(names, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, "\n")
	}
	before := files()
	for name, try := range map[string]struct {
		by      *Caller
		session string
	}{
		"another project's lead":             {foreign, x.session},
		"a lead, of a session without a run": {x.lead, x.other},
		"a made-up id":                       {x.lead, "made-up"},
		"no id":                              {x.lead, strings.Repeat("x/", 300)},
	} {
		if _, err := x.try(try.by, "session:resume", `{"sessionId":"`+try.session+`"}`, name); err == nil {
			t.Errorf("%s resumes", name)
		}
		if now := files(); now != before {
			t.Errorf("%s: the outboxes are\n%s\nbut were\n%s", name, now, before)
		}
	}
	if said := x.log.String(); strings.Contains(said, "kept command") || strings.Contains(said, "outbox") {
		t.Errorf("the log says\n%s", said)
	}
	if done := x.do(x.lead, "session:resume", `{"sessionId":"`+x.session+`"}`); len(done.Warnings) > 0 {
		t.Errorf("warnings: %q", done.Warnings)
	}
	if n, err := x.box.Waiting(); err != nil || n != 0 {
		t.Errorf("%d commands wait, %v", n, err)
	}
}

// A resume waits while the session's quota is used up, but only so long; then it says what was not delivered, and
// where that will be.
func TestResumeWaitsForTheQuota(t *testing.T) {
	for name, test := range map[string]struct{ entries, left, more int }{
		"soon":     {6, 0, 0},
		"too many": {24, 10, 1}, // one is due when the time is over
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newResumed(t)
				for i := range test.entries {
					x.keep(fmt.Sprint("kept ", i))
				}
				if err := x.Limits.Set("session-commands=1/4"); err != nil {
					t.Fatal(err)
				}
				x.ledger = newLedger(&x.Limits)
				began := time.Now() // of the bubble's clock
				done := x.do(x.admin(), "session:resume", `{"sessionId":"`+x.session+`"}`)
				took := time.Since(began)
				left, err := x.box.Waiting()
				if err != nil || left < test.left || left > test.left+test.more {
					t.Errorf("%d commands wait, %v", left, err)
				}
				if took < time.Second || took > beforeMost+time.Second {
					t.Errorf("it took %s", took)
				}
				var want []string
				if left > 0 {
					want = []string{leftUndelivered(x.session, left)}
				}
				if !slices.Equal(done.Warnings, want) {
					t.Errorf("warnings: %q", done.Warnings)
				}
				for range 2 * left {
					x.delivery.all(t.Context())
				}
				if damaged, replaced := x.counts(); damaged != 0 || replaced != left {
					t.Errorf("%d commands are damaged, and %d of an earlier run", damaged, replaced)
				}
			})
		})
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
	// An agent of the next run, which cannot check the proof, goes by what the entry says.
	x.keep("later")
	now := SessionToken(x.Keys.ServerKey, x.session, FirstGeneration+1)
	reject := func(_ context.Context, u outbox.Unproven) (bool, error) { return u.SaysFormer, nil }
	d, err := x.with(now).Deliver(x.Context(), time.Second, nil, reject)
	if err != nil || len(d.Damaged) != 1 || !d.Damaged[0].Replaced ||
		!strings.Contains(d.Damaged[0].Why, "earlier secret of the session") {
		t.Errorf("%+v, %v", d, err)
	}
	for range 2 {
		x.delivery.all(x.Context())
	}
	const other = `level=WARN msg="kept commands with a replaced secret were set aside" session=`
	if said := x.log.String(); strings.Contains(said, "ERROR") || strings.Count(said, other) != 1 {
		t.Errorf("the log says\n%s", said)
	}
}

func TestLeftUndelivered(t *testing.T) {
	const want = "1 kept command of session s could not be delivered before its secret was replaced: the server will " +
		"put it into outbox/s/replaced of its home; have the session say again what still counts"
	if got := leftUndelivered("s", 1); got != want {
		t.Errorf("got %s", got)
	}
}

// A forged entry that calls itself one of an earlier run is damaged all the same, while one of an earlier run is not,
// even if it does not say so.
func TestForgedEntryOfAnEarlierRun(t *testing.T) {
	x := newResumed(t)
	x.do(x.lead, "session:resume", `{"sessionId":"`+x.session+`"}`)
	forger := x.with(wire.SessionTokenPrefix + x.session + ".1.forged")
	if _, err := forger.Keep(t.Context(), outbox.Entry{
		Command:    "report:progress",
		Body:       []byte(`{"message":"forged"}`),
		Key:        "forged",
		OccurredAt: x.claimed,
	}); err != nil {
		t.Fatal(err)
	}
	x.delivery.all(t.Context())
	if damaged, replaced := x.counts(); damaged != 1 || replaced != 0 {
		t.Errorf("%d commands are damaged, and %d of an earlier run", damaged, replaced)
	}
	if said := x.log.String(); !strings.Contains(said, `level=ERROR msg="a kept command is damaged`) {
		t.Errorf("the log says\n%s", said)
	}
	of := &turn{service: x.Service, session: x.session}
	for _, entry := range []struct {
		generation int
		secret     string
		former     bool
	}{
		{0, x.secret, true},
		{1, x.secret, true},
		{7, x.secret, true}, // there was none yet: all are tried
		{0, SessionToken(x.Keys.ServerKey, x.session, FirstGeneration+1), false},
		{1, x.secret + "x", false},
	} {
		e := x.kept(entry.secret)
		e.Generation = entry.generation
		if former := of.revoked(e); former != entry.former {
			t.Errorf("%+v: %t", entry, former)
		}
	}
}

// kept returns an entry as an outbox with this secret keeps it.
func (x *resumed) kept(secret string) (kept outbox.Entry) {
	x.Helper()
	home, err := disk.OpenRoot(x.TempDir())
	if err != nil {
		x.Fatal(err)
	}
	defer func() { _ = home.Close() }()
	box, err := outbox.Open(home, x.session, func() string { return secret })
	if err != nil {
		x.Fatal(err)
	}
	if _, err := box.Keep(x.Context(), outbox.Entry{
		Command:    "report:progress",
		Body:       []byte(`{"message":"m"}`),
		Key:        "kept",
		OccurredAt: x.claimed,
	}); err != nil {
		x.Fatal(err)
	}
	if _, err := box.Deliver(x.Context(), time.Second, func(_ context.Context, e outbox.Entry) error {
		kept = e
		return nil
	}, nil); err != nil {
		x.Fatal(err)
	}
	return kept
}
