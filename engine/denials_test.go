package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// The default bounds, repeated here as numbers.
const (
	denialsAMinute = 60
	denialsOfOne   = 1000
	denialsKept    = 10_000
)

// fakeDenials keeps records of refusals in memory, each in its slot.
type fakeDenials struct {
	mu    sync.Mutex
	slots map[string]StoredDenial
	order []string // of the slots, by first use
	// batches are the sizes of the batches of records.
	batches []int
	// onStore and onLoad, when set, may wait or fail.
	onStore, onLoad func() error
}

func (f *fakeDenials) StoreDenials(_ context.Context, records []StoredDenial) error {
	f.mu.Lock()
	hook := f.onStore
	f.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, len(records))
	for _, record := range records {
		name := record.Actor + " " + record.Slot
		if _, ok := f.slots[name]; !ok {
			f.order = append(f.order, name)
		}
		if f.slots == nil {
			f.slots = map[string]StoredDenial{}
		}
		f.slots[name] = record
	}
	return nil
}

func (f *fakeDenials) LoadDenials(_ context.Context, yield func(StoredDenial) error) error {
	if f.onLoad != nil {
		return f.onLoad()
	}
	for _, name := range f.order {
		if err := yield(f.slots[name]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeDenials) when(onStore func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onStore = onStore
}

// records returns what is stored, in the order of the slots' first use.
func (f *fakeDenials) records(t testing.TB) []Denial {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Denial
	for _, name := range f.order {
		var denial Denial
		if err := json.Unmarshal(f.slots[name].Body, &denial); err != nil {
			t.Fatal(err)
		}
		all = append(all, denial)
	}
	return all
}

// denyingWorld is a world that records refusals.
type denyingWorld struct {
	*world
	store *fakeDenials
	d     *Denials
}

func newDenyingWorld(t testing.TB) *denyingWorld {
	t.Helper()
	w := &denyingWorld{world: newWorld(t), store: &fakeDenials{}}
	w.reopen()
	return w
}

// reopen restarts the Handler and the recording, like a restart of the server.
func (w *denyingWorld) reopen() {
	w.t.Helper()
	w.h.Close()
	if w.d != nil {
		w.d.Close()
	}
	d, err := OpenDenials(context.Background(), w.store, w.now, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(d.Close)
	w.d = d
	w.h = open(w.t, Config{
		Log:     w.log,
		Blobs:   &fakeBlobs{},
		Now:     w.now,
		Denials: d,
	})
}

func (w *denyingWorld) close() {
	w.h.Close()
	w.d.Close()
}

// refused sends a command that must be refused.
func (w *denyingWorld) refused(by, id, body string) *commands.Refusal {
	w.t.Helper()
	_, err := w.do(by, id, body)
	var refusal *commands.Refusal
	if !errors.As(err, &refusal) {
		w.t.Fatalf("%s %s %s: %v", by, id, body, err)
	}
	return refusal
}

// counts returns the counts of the stored records of an actor, in order.
func (w *denyingWorld) counts(by string) []int {
	w.t.Helper()
	var counts []int
	for _, denial := range w.store.records(w.t) {
		if denial.Actor == w.actor(by).Source() {
			counts = append(counts, denial.Count)
		}
	}
	return counts
}

// A refusal is stored before it is answered; meanwhile the writer continues for the others.
func TestRefusalsAreStoredBeforeTheyAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDenyingWorld(t)
		defer w.close()
		open := make(chan struct{})
		w.store.when(func() error { <-open; return nil })
		answered := make(chan error, 3)
		at := w.log.head()
		go func() {
			_, err := w.withKey("w", "task:complete", `{"taskId":"{t1}","force":true}`, "a")
			answered <- err
		}()
		synctest.Wait()
		go func() { _, err := w.withKey("w", "task:complete", `{"taskId":"{t2}"}`, "b"); answered <- err }()
		go func() { _, err := w.withKey("w", "task:complete", `{"taskId":"{t2}"}`, "c"); answered <- err }()
		synctest.Wait()
		if _, err := w.note("n"); err != nil {
			t.Errorf("another command meanwhile: %v", err)
		}
		if len(answered) != 0 || len(w.store.records(t)) != 0 {
			t.Errorf("%d answered, %d stored, although the store is blocked", len(answered), len(w.store.records(t)))
		}
		close(open)
		for range 3 {
			err := <-answered
			var refusal *commands.Refusal
			if !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed || !refusal.Recorded {
				t.Errorf("answered: %v", err)
			}
		}
		if !slices.Equal(w.store.batches, []int{1, 1}) {
			t.Errorf("stored in batches of %v", w.store.batches)
		}
		records := w.store.records(t)
		want := Denial{
			ID:      "denial_0",
			Number:  1,
			Actor:   w.actor("w").Source(),
			Authn:   commands.AuthnToken,
			Command: "task:complete",
			Project: w.ids["p"],
			Target: json.RawMessage(
				w.fillIn(`{"taskId":"{t1}"}`),
			),
			Code:     commands.CodeNotAllowed,
			Rule:     "task:complete",
			Rules:    commands.RulesVersion,
			Message:  "Command 'task:complete' is not allowed for worker (simple strategy)",
			Why:      "it is for: orchestrator, user",
			Sequence: at,
			First:    events.Millis(w.now().UnixMilli()),
			Last:     events.Millis(w.now().UnixMilli()),
			Count:    1,
		}
		if fmt.Sprintf("%+v", records[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("recorded:\n%+v\nwant\n%+v", records[0], want)
		}
		if len(records) != 2 || records[1].Count != 2 || records[1].ID != "denial_1" {
			t.Errorf("%+v", records)
		}
		if list := w.d.List(nil); fmt.Sprintf("%+v", list) != fmt.Sprintf("%+v", records) {
			t.Errorf("listed:\n%+v\nstored\n%+v", list, records)
		}
	})
}

// Equal refusals within a minute are one record with a count; another command, target, reason or actor is another.
func TestEqualRefusalsAreOneRecord(t *testing.T) {
	w := newDenyingWorld(t)
	again := func() { w.refused("w", "task:complete", `{"taskId":"{t1}","force":true}`) }
	for range 5 {
		again()
		w.pass(10 * time.Second)
	}
	if got := w.counts("w"); !slices.Equal(got, []int{5}) {
		t.Errorf("five within a minute: %v", got)
	}
	if r := w.store.records(t)[0]; r.Last-r.First < 40_000 || r.Last-r.First > 41_000 {
		t.Errorf("from %d to %d", r.First, r.Last)
	}
	w.refused("w", "task:complete", `{"taskId":"{t2}"}`)
	w.refused("w", "task:block", `{"taskId":"{t1}"}`)
	w.refused("v", "task:complete", `{"taskId":"{t1}","force":true}`)
	again()
	if a, b := w.counts("w"), w.counts("v"); !slices.Equal(a, []int{6, 1, 1}) || !slices.Equal(b, []int{1}) {
		t.Errorf("others: %v, and v: %v", a, b)
	}
	w.pass(10 * time.Second)
	again()
	again()
	if got := w.counts("w"); !slices.Equal(got, []int{6, 1, 1, 2}) {
		t.Errorf("after a minute: %v", got)
	}
	w.pass(-time.Hour)
	again()
	if got := w.counts("w"); !slices.Equal(got, []int{6, 1, 1, 2, 1}) {
		t.Errorf("with a clock set back: %v", got)
	}
}

// Above sixty different refusals per minute, one actor's refusals share a record; those of other actors do not.
func TestRefusalsOfOneActorAreLimited(t *testing.T) {
	w := newDenyingWorld(t)
	for i := range 200 {
		w.refused("w", "task:complete", fmt.Sprintf(`{"taskId":"none-%d"}`, i))
	}
	w.refused("w", "task:complete", `{"taskId":"none-7"}`) // it has its own record already
	w.refused("v", "task:complete", `{"taskId":"none-200"}`)
	records := w.store.records(t)
	if len(records) != denialsAMinute+2 {
		t.Fatalf("%d records", len(records))
	}
	more := records[denialsAMinute]
	if !more.More || more.Count != 200-denialsAMinute || more.Command != "" || more.Target != nil ||
		more.Actor != w.actor("w").Source() ||
		more.ID != "denial_60" {
		t.Errorf("%+v", more)
	}
	if records[7].Count != 2 || records[8].Count != 1 {
		t.Errorf("a refusal with its own record: %+v", records[7])
	}
	if last := records[denialsAMinute+1]; last.More || last.Actor != w.actor("v").Source() || last.ID != "denial_0" {
		t.Errorf("another actor's: %+v", last)
	}
	w.pass(time.Minute)
	w.refused("w", "task:complete", `{"taskId":"none-300"}`)
	if records := w.store.records(t); len(records) != denialsAMinute+3 || records[denialsAMinute+2].More {
		t.Errorf("a minute later: %d records", len(records))
	}
}

// An actor has a thousand places. A new record replaces the actor's oldest one, never another actor's.
func TestRefusalsAreARing(t *testing.T) {
	now := time.Now()
	store := &fakeDenials{}
	d, err := OpenDenials(t.Context(), store, func() time.Time { return now }, nil)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(d *Denials, by commands.Actor, n int) {
		t.Helper()
		if n%denialsAMinute == 0 {
			now = now.Add(time.Minute)
		}
		if err := d.Record(
			t.Context(),
			by,
			"task:list",
			"p",
			&commands.Refusal{Code: commands.CodeNotAllowed, Message: fmt.Sprint("no ", n)},
			7,
		); err != nil {
			t.Fatal(err)
		}
	}
	quiet, loud := commands.SessionActor(
		"p",
		"quiet",
		commands.AuthnToken,
	), commands.SessionActor(
		"p",
		"loud",
		commands.AuthnToken,
	)
	refuse(d, quiet, 0)
	const many = denialsKept + 5*denialsOfOne
	for n := range many {
		refuse(d, loud, n)
	}
	check := func(when string, d *Denials) {
		t.Helper()
		of := map[string][]Denial{}
		for _, denial := range d.List(nil) {
			of[denial.Actor] = append(of[denial.Actor], denial)
		}
		if n := len(of[quiet.Source()]); n != 1 {
			t.Errorf("%s: the quiet actor has %d records", when, n)
		}
		if list := of[loud.Source()]; len(list) != denialsOfOne ||
			list[0].Message != fmt.Sprint("no ", many-denialsOfOne) ||
			list[denialsOfOne-1].Message != fmt.Sprint("no ", many-1) {
			t.Errorf("%s: the loud actor has %d records, from %q", when, len(list), list[0].Message)
		}
	}
	check("at once", d)
	if n := len(store.slots); n != denialsOfOne+1 {
		t.Errorf("%d are stored", n)
	}
	d.Close()
	d, err = OpenDenials(t.Context(), store, func() time.Time { return now }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	check("after a restart", d)
	now = now.Add(time.Minute)
	refuse(d, loud, many+1)
	list := d.List(func(x *Denial) bool { return x.Actor == loud.Source() })
	if last := list[len(list)-1]; len(list) != denialsOfOne || last.ID != fmt.Sprint("denial_", many) ||
		list[0].Message != fmt.Sprint("no ", many-denialsOfOne+1) {
		t.Errorf("%d records after one more, from %q, the last is %s", len(list), list[0].Message, last.ID)
	}
}

// Each refused command that waited in an outbox has a record of its own with its text and its key, because its caller
// was told that it is kept.
func TestKeptCommandsAreRecordedWithTheirWords(t *testing.T) {
	w := newDenyingWorld(t)
	said := w.now().Add(-time.Hour)
	keep := func(key string, c commands.Command) {
		t.Helper()
		if _, err := w.h.Do(
			t.Context(),
			Request{
				By:         w.actor("w"),
				Command:    c,
				Key:        key,
				OccurredAt: said,
			},
		); code(
			err,
		) == "" {
			t.Fatalf("not refused: %v", err)
		}
	}
	report := func() commands.Command {
		return &commands.Report{Kind: events.ReportProgress, Message: "the words", TaskIDs: []string{w.ids["t3"]}}
	}
	w.must("admin", "session:kill", `{"sessionId":"{w}"}`)
	for i := range 3 {
		keep(fmt.Sprint("k", i), report())
	}
	keep("file", &commands.TrackFile{File: "a.go"})
	long := strings.Repeat("x", events.MaxText+1)
	keep("long", &commands.Report{Kind: events.ReportProgress, Message: long, TaskIDs: []string{w.ids["t3"]}})
	keep(strings.Repeat("k", 1000), report())
	w.refused("w", "report:progress", `{"message":"now","taskIds":["{t3}"]}`)
	records := w.store.records(t)
	if len(records) != 7 {
		t.Fatalf("%d records", len(records))
	}
	for i, record := range records[:3] {
		if !record.Kept || record.Text != "the words" || record.Key != fmt.Sprint("k", i) ||
			record.OccurredAt != events.Millis(said.UnixMilli()) ||
			record.Count != 1 ||
			record.ID != fmt.Sprint("kept_", i) {
			t.Errorf("%+v", record)
		}
	}
	if records[3].Text != "a.go" || records[3].Key != "file" {
		t.Errorf("%+v", records[3])
	}
	if n := len(records[4].Text); n <= denialText || n > denialText+len("…") || !records[4].Cut || records[3].Cut {
		t.Errorf("%d bytes of a long text, marked as cut: %t", n, records[4].Cut)
	}
	if n := len(records[5].Key); n > commands.MaxKey+len("…") || !records[5].Cut {
		t.Errorf("a key of %d bytes", n)
	}
	if last := records[6]; last.Kept || last.Text != "" || last.Key != "" || last.OccurredAt != 0 ||
		last.ID != "denial_0" {
		t.Errorf("%+v", last)
	}
	for i := range denialsAMinute + 1 {
		w.refused("w", "session:kill", fmt.Sprintf(`{"sessionId":"none-%d"}`, i))
	}
	before := len(w.store.records(t))
	keep("k3", report()) // like the one above, which was not kept, and above the limit of separate records
	if records := w.store.records(
		t,
	); len(records) != before+1 || records[before].Key != "k3" ||
		records[before].Count != 1 {
		t.Errorf("kept commands among others: %+v", records[before:])
	}
	w.reopen()
	keep("k9", report())
	if records := w.store.records(t); records[len(records)-1].ID != "kept_7" {
		t.Errorf("after a restart: %+v", records[len(records)-1])
	}
	before = len(w.store.records(t))
	w.pass(time.Minute)
	for i := range 3 * denialsAMinute {
		keep(fmt.Sprint("many", i), report())
	}
	records = w.store.records(t)[before:]
	if last := records[len(records)-1]; len(records) != denialsAMinute+1 || !last.More || !last.Kept ||
		last.Count != 2*denialsAMinute ||
		records[0].More {
		t.Errorf("%d records, the last is %+v", len(records), last)
	}
}

// A refusal that cannot be recorded is not answered.
func TestRefusalsThatCannotBeRecorded(t *testing.T) {
	w := newDenyingWorld(t)
	broken := errors.New("the disk is full")
	for _, body := range []string{`{"taskId":"{t1}"}`, `{"taskId":"a/b"}`} {
		w.store.when(func() error { return broken })
		_, err := w.withKey("o", "task:reopen", body, "k"+body)
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !errors.Is(err, broken) || code(err) != "" {
			t.Errorf("%s: %v", body, err)
		}
		w.store.when(nil)
		if _, err := w.withKey("o", "task:reopen", body, "k"+body); code(err) == "" {
			t.Errorf("%s, once it can be recorded again: %v", body, err)
		}
	}
	w.store.when(func() error { return broken })
	if _, err := w.withKey("o", "task:reopen", `{"taskId":"{t1}"}`, ""); code(err) != "" {
		t.Errorf("without a key: %v", err)
	}
	if err := w.d.Record(
		t.Context(),
		w.actor("w"),
		"task:list",
		"p",
		&commands.Refusal{Code: commands.CodeNotAllowed, Message: "no"},
		1,
	); !errors.Is(
		err,
		broken,
	) {
		t.Errorf("a refused read: %v", err)
	}
	if _, err := w.do("o", "session:note", `{"message":"m"}`); err != nil {
		t.Errorf("a command that is not refused: %v", err)
	}
}

// After a restart, the numbers continue, and an unreadable record is skipped.
func TestRefusalsAfterARestart(t *testing.T) {
	w := newDenyingWorld(t)
	for _, task := range []string{"t1", "t2", "t3"} {
		w.refused("w", "task:complete", `{"taskId":"{`+task+`}"}`)
		w.pass(time.Second)
	}
	w.refused("v", "task:complete", `{"taskId":"{t1}","force":true}`)
	before := w.d.List(nil)
	w.store.slots["odd"] = StoredDenial{Actor: "odd", Slot: "0", Body: []byte("{")}
	w.store.order = slices.Insert(w.store.order, 0, "odd")
	w.reopen()
	if after := w.d.List(nil); fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) || len(after) != 4 {
		t.Errorf("listed:\n%+v\nbefore\n%+v", after, before)
	}
	w.pass(time.Second)
	w.refused("w", "task:complete", `{"taskId":"{t1}","force":true}`)
	w.refused("v", "task:complete", `{"taskId":"{t2}"}`)
	list := w.d.List(func(x *Denial) bool { return x.Actor == w.actor("w").Source() })
	if len(list) != 4 || list[3].ID != "denial_3" || list[3].Count != 1 {
		t.Errorf("%+v", list)
	}
	if list := w.d.List(nil); list[len(list)-1].ID != "denial_1" {
		t.Errorf("%+v", list[len(list)-1])
	}
	w.store.onLoad = func() error { return errors.New("the wire is cut") }
	if _, err := OpenDenials(
		t.Context(),
		w.store,
		w.now,
		nil,
	); err == nil ||
		!strings.Contains(err.Error(), "the wire is cut") {
		t.Errorf("records that cannot be read: %v", err)
	}
}

// A refusal is recorded even if its caller has left.
func TestRefusalAfterCallerLeft(t *testing.T) {
	for name, c := range map[string]struct {
		command commands.Command
		key     string
	}{
		"decided": {&commands.CompleteTask{TaskID: "none"}, "k"},
		"early":   {&commands.CompleteTask{TaskID: "none"}, ""},
		"read":    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newDenyingWorld(t)
				defer w.close()
				open := make(chan struct{})
				w.store.when(func() error { <-open; return nil })
				ctx, cancel := context.WithCancel(t.Context())
				answered := make(chan error, 1)
				by := w.actor("o")
				go func() {
					if c.command == nil {
						refusal := &commands.Refusal{Code: commands.CodeNotAllowed, Message: "no"}
						answered <- w.d.Record(ctx, by, "p", "task:list", refusal, 1)
						return
					}
					_, err := w.h.Do(ctx, Request{By: by, Command: c.command, Key: c.key})
					answered <- err
				}()
				synctest.Wait()
				cancel()
				if err := <-answered; !errors.Is(err, context.Canceled) {
					t.Errorf("answered: %v", err)
				}
				close(open)
				synctest.Wait()
				if records := w.store.records(t); len(records) != 1 || records[0].Actor != by.Source() {
					t.Errorf("%+v", records)
				}
			})
		})
	}
}

// Every refusal is recorded: by the table, by the decision, before both, and of a retry.
func TestEveryRefusalIsRecorded(t *testing.T) {
	long := strings.Repeat("x", events.MaxText+1)
	many := `["` + strings.Repeat(strings.Repeat("y", 1<<10)+`","`, 900) + `y"]`
	for _, c := range []struct {
		name  string
		given func(w *denyingWorld)
		when  step
		key   string
		code  commands.Code
	}{
		{
			"by the table", nil,
			step{"w", "task:complete", `{"taskId":"{t1}","force":true}`},
			"k",
			commands.CodeNotAllowed,
		},
		{"by the decision", nil, step{"o", "task:reopen", `{"taskId":"{t1}"}`}, "k", commands.CodeRule},
		{"without a key", nil, step{"o", "task:complete", `{"taskId":"{t1}","force":true}`}, "", commands.CodeInvalid},
		{
			"with too long a key", nil,
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			strings.Repeat("k", 201),
			commands.CodeInvalid,
		},
		{"a long text of one who may not", nil, step{"w", "project:create", `{"name":"N","description":"` + long +
			`"}`}, "k", commands.CodeNotAllowed},
		{
			"a long text with a NUL", nil,
			step{"w", "report:progress", `{"message":"` + long + `\u0000"}`},
			"k",
			commands.CodeInvalid,
		},
		{
			"more than the log takes", nil,
			step{"w", "task:create", `{"title":"x","acceptanceCriteria":` + many + `}`},
			"k", commands.CodeTooLarge,
		},
		{"a key that was used", func(w *denyingWorld) {
			if _, err := w.withKey("w", "session:note", `{"message":"a"}`, "k"); err != nil {
				t.Fatal(err)
			}
		}, step{"w", "session:note", `{"message":"b"}`}, "k", commands.CodeKeyReused},
		{
			"a token that is not good", nil,
			step{"token:gone", "task:complete", `{"taskId":"{t1}","force":true}`},
			"k",
			commands.CodeNotAllowed,
		},
		{
			"a session that nobody knows", nil,
			step{"stranger", "task:create", `{"title":"x"}`},
			"k",
			commands.CodeNotAllowed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newDenyingWorld(t)
			if c.given != nil {
				c.given(w)
			}
			_, err := w.withKey(c.when[0], c.when[1], c.when[2], c.key)
			records := w.store.records(t)
			var refusal *commands.Refusal
			if !errors.As(err, &refusal) || refusal.Code != c.code || !refusal.Recorded {
				t.Fatalf("%v", err)
			}
			if len(records) != 1 || records[0].Code != c.code || records[0].Command != c.when[1] ||
				records[0].Message != refusal.Message ||
				records[0].Sequence != w.log.head() {
				t.Errorf("%+v", records)
			}
		})
	}
	t.Run("a key used twice in one batch", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newDenyingWorld(t)
			defer w.close()
			_, errs := w.together(3, func(i int) (Answer, error) {
				return w.withKey("w", "session:note", fmt.Sprintf(`{"message":"%d"}`, i/2), fmt.Sprint("k", min(i, 1)))
			})
			if records := w.store.records(
				t,
			); code(errs[2]) != commands.CodeKeyReused || len(records) != 1 ||
				records[0].Code != commands.CodeKeyReused {
				t.Errorf("%v, %+v", errs, records)
			}
		})
	})
}

// The record says on which state the refusal was decided: within a batch, the state after the commands before it.
func TestRefusalsNameTheirState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDenyingWorld(t)
		defer w.close()
		head := w.log.head()
		steps := []step{
			{"w", "session:note", `{"message":"m"}`},
			{"w", "session:note", `{"message":"m"}`},
			kill("w"),
			{"w", "session:note", `{"message":"m"}`},
			{"v", "session:note", `{"message":"m"}`},
		}
		_, errs := w.together(
			len(steps),
			func(i int) (Answer, error) { return w.withKey(steps[i][0], steps[i][1], steps[i][2], fmt.Sprint(i)) },
		)
		if records := w.store.records(
			t,
		); code(errs[3]) != commands.CodeNotAllowed || len(records) != 1 ||
			records[0].Sequence != head+3 {
			t.Errorf("%v, %+v", errs, records)
		}
	})
}

// Commands that are not refused leave no record, nor do dry runs.
func TestUnrecordedCommands(t *testing.T) {
	w := newDenyingWorld(t)
	w.must("o", "task:complete", `{"taskId":"{t1}","force":true}`)
	w.must("o", "task:complete", `{"taskId":"{t1}","force":true}`) // already so
	for range 2 {
		if _, err := w.withKey("w", "session:note", `{"message":"m"}`, "k"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.h.Try(
		Request{By: w.actor("w"), Command: &commands.CompleteTask{TaskID: w.ids["t1"]}, Key: "k"},
	); code(
		err,
	) != commands.CodeNotAllowed {
		t.Errorf("tried: %v", err)
	}
	w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrFull })
	if _, err := w.do("o", "session:note", `{"message":"m"}`); code(err) != "" || err == nil {
		t.Errorf("with a full disk: %v", err)
	}
	w.close()
	if records := w.store.records(t); len(records) != 0 {
		t.Errorf("%+v", records)
	}
}

// Close stores the waiting records and then accepts no more.
func TestCloseOfDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDenyingWorld(t)
		open := make(chan struct{})
		w.store.when(func() error { <-open; return nil })
		answered := make(chan error, 5)
		for i := range 5 {
			go func() {
				answered <- w.d.Record(context.Background(), w.actor("w"), "task:list", "p",
					&commands.Refusal{Message: fmt.Sprint(i)}, 1)
			}()
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() { w.d.Close(); w.d.Close(); close(closed) }()
		synctest.Wait()
		var unavailable *UnavailableError
		if err := w.d.Record(
			t.Context(),
			w.actor("w"),
			"task:list",
			"p",
			&commands.Refusal{Message: "late"},
			1,
		); !errors.As(
			err,
			&unavailable,
		) {
			t.Errorf("after Close: %v", err)
		}
		if _, err := w.do("w", "task:complete", `{"taskId":"{t1}","force":true}`); !errors.As(err, &unavailable) {
			t.Errorf("a command after Close: %v", err)
		}
		close(open)
		<-closed
		for range 5 {
			if err := <-answered; err != nil {
				t.Errorf("before Close: %v", err)
			}
		}
		if records := w.store.records(t); len(records) != 5 {
			t.Errorf("%d stored", len(records))
		}
		w.h.Close()
	})
}

// Many callers at once, under -race: each is answered once its refusal is stored, and the counts add up.
func TestManyRefusals(t *testing.T) {
	w := newDenyingWorld(t)
	const callers, each = 16, 50
	by := []commands.Actor{w.actor("w"), w.actor("v"), w.actor("r"), w.actor("k")}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				_, err := w.h.Do(
					context.Background(),
					Request{
						By:      by[caller%4],
						Command: &commands.CompleteTask{TaskID: fmt.Sprint("none-", i%5)},
						Key:     fmt.Sprint(caller, ".", i),
					},
				)
				if code(err) != commands.CodeNotAllowed {
					t.Errorf("%v", err)
				}
				w.d.List(nil)
			}
		})
	}
	all.Wait()
	total := 0
	for _, record := range w.store.records(t) {
		total += record.Count
	}
	if total != callers*each || len(w.store.records(t)) != 20 {
		t.Errorf("%d counted in %d records", total, len(w.store.records(t)))
	}
	if len(w.store.batches) > callers*each {
		t.Errorf("%d batches", len(w.store.batches))
	}
	w.h.View(func(s *projections.State) {
		if s.Head().Sequence != w.log.head() {
			t.Error("a refusal moved the log")
		}
	})
}
