package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"maestro/api/export"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/projections"
)

// fileAt returns the views of a log after an event, folded for themselves.
func fileAt(t *testing.T, log []byte, sequence uint64) *past {
	t.Helper()
	return pastOf(t, &fileHistory{foldedLog: newFoldedLog(bytes.NewReader(log), "log.jsonl")}, sequence)
}

func pastOf(t *testing.T, h *fileHistory, sequence uint64) *past {
	t.Helper()
	m := moment{sequence: sequence, beginning: sequence == 0}
	p, err := h.at(t.Context(), subject{}, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// viewsOf returns views as JSON, without what they say of the present only.
func viewsOf(t *testing.T, p *past) map[projections.ViewKey]any {
	t.Helper()
	views := map[projections.ViewKey]any{}
	for key := range p.views {
		is, err := p.fields(key)
		if err != nil {
			t.Fatal(err)
		}
		views[key] = decoded(t, is.object())
	}
	return views
}

func decoded(t *testing.T, text json.RawMessage) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// apply changes views as a difference says, as it is printed with -o json.
func apply(t *testing.T, views map[projections.ViewKey]any, changes []viewChange) {
	t.Helper()
	var printed []viewChange
	if err := json.Unmarshal(encoded(changes), &printed); err != nil {
		t.Fatal(err)
	}
	for _, c := range printed {
		key := projections.ViewKey{Kind: c.Kind, ID: c.ID}
		_, known := views[key]
		if known == (c.Change == created || c.Change == joined) {
			t.Errorf("%v is %s, and known: %v", key, c.Change, known)
		}
		switch c.Change {
		case created, joined:
			views[key] = decoded(t, c.Value)
		case removed, left:
			if !reflect.DeepEqual(views[key], decoded(t, c.Value)) {
				t.Errorf("%v was another one when it was removed", key)
			}
			delete(views, key)
		default:
			view := views[key].(map[string]any) //nolint:forcetypeassert // each view is an object
			for _, f := range c.Fields {
				was, has := view[f.Field]
				if has != (f.Old != nil) || has && !reflect.DeepEqual(was, decoded(t, f.Old)) {
					t.Errorf("%s of %v was %v, not %s", f.Field, key, was, f.Old)
				}
				if delete(view, f.Field); f.New != nil {
					view[f.Field] = decoded(t, f.New)
				}
			}
		}
	}
}

// The difference of any two moments, applied to the views of the first, gives those of the second, and no change is
// one of nothing.
func TestDiffIsExact(t *testing.T) {
	log := goldenLog(t)
	last := uint64(bytes.Count(log, []byte("\n"))) //nolint:gosec // a count
	r := rand.New(rand.NewPCG(5, 6))
	all := 0
	for range 150 {
		a, b := r.Uint64N(last+1), r.Uint64N(last+1)
		from, to := min(a, b), max(a, b)
		h := &fileHistory{foldedLog: newFoldedLog(bytes.NewReader(log), "log.jsonl")}
		was := pastOf(t, h, from)
		changes, _, err := differences(subject{}, was, pastOf(t, h, to))
		if err != nil {
			t.Fatal(err)
		}
		views, want := viewsOf(t, fileAt(t, log, from)), viewsOf(t, fileAt(t, log, to))
		apply(t, views, changes)
		if !reflect.DeepEqual(views, want) {
			t.Fatalf("from %d to %d: the views are not those of the second moment", from, to)
		}
		if from == to && len(changes) > 0 {
			t.Errorf("at %d, %d views differ from themselves", from, len(changes))
		}
		all += len(changes)
	}
	if all < 1000 {
		t.Errorf("only %d changes", all)
	}
}

// At each moment, the export of one project has the views of that project as the whole log has them, but for when a
// session was heard last, which may have been in another project, and for the marks of redacted texts: the event that
// redacts is of no project.
func TestPartOfALogHasItsViews(t *testing.T) {
	const project = "p"
	log := goldenLog(t)
	part := partOf(t, log, project)
	last := uint64(bytes.Count(log, []byte("\n"))) //nolint:gosec // a count
	views := func(p *past) map[projections.ViewKey]any {
		of := viewsOf(t, p)
		for key := range of {
			if projectOf(key, p.views[key]) != project {
				delete(of, key)
			}
			if view, ok := of[key].(map[string]any); ok {
				delete(view, "redacted")
				if key.Kind == projections.KindSession {
					delete(view, "lastActivity")
				}
			}
		}
		return of
	}
	for sequence := uint64(1); sequence <= last; sequence += 3 {
		is := fileAt(t, part, sequence)
		if is.Sequence != sequence {
			t.Errorf("the log was read to event %d, not %d", is.Sequence, sequence)
		}
		if want := views(fileAt(t, log, sequence)); !reflect.DeepEqual(views(is), want) || len(want) == 0 {
			t.Errorf("at %d, %d views are not the %d of the whole log", sequence, len(is.views), len(want))
		}
	}
}

// What refers to an event that a file withholds is no damage: its reader is told which part can be shown.
func TestPartOfALogThatLacksWhatItNeeds(t *testing.T) {
	log := goldenLog(t)
	first, rest, _ := bytes.Cut(log, []byte("\n"))
	line, err := export.ReadLine(first)
	if err != nil {
		t.Fatal(err)
	}
	part := export.AppendWithheld(nil, 1, line.Hash, events.Hash{}, events.BodyHash(line.Body()))
	l := newFoldedLog(bytes.NewReader(append(part, rest...)), "log.jsonl")
	for more := true; more && err == nil; {
		more, err = l.next(moment{})
	}
	var said *failure.Error
	if !errors.As(err, &said) || said.Next != "ask for an export of the whole log, or end with --to 1" {
		t.Errorf("%+v", said)
	}
}

// partOf is the export of one project.
func partOf(t *testing.T, log []byte, project string) (part []byte) {
	t.Helper()
	for text := range bytes.Lines(log) {
		line, err := export.ReadLine(bytes.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		event, err := events.Decode(line.Body())
		switch {
		case err != nil:
			t.Fatal(err)
		case event.Project == project:
			part = append(part, text...)
		default:
			part = export.AppendWithheld(part, line.Sequence, line.Hash, event.PrevHash, events.BodyHash(line.Body()))
		}
	}
	return part
}

// Applied one after the other, the changes of the events of a replay give the views of its end.
func TestReplayIsExact(t *testing.T) {
	log := goldenLog(t)
	whole := fileAt(t, log, uint64(bytes.Count(log, []byte("\n")))) //nolint:gosec // a count
	for _, key := range whole.keys {
		if key.Kind != projections.KindProject {
			continue
		}
		var out bytes.Buffer
		a := &cli.Run{Printer: cli.Printer{Stdout: &out, JSON: true}}
		r := &objectReplay{
			Run:   a,
			of:    subject{key.Kind, key.ID},
			known: map[projections.ViewKey]fields{},
			names: map[string]string{},
		}
		h := &fileHistory{Run: a, foldedLog: newFoldedLog(bytes.NewReader(log), "log.jsonl")}
		if err := r.run(t.Context(), h, moment{}, moment{}); err != nil {
			t.Fatal(err)
		}
		views := map[projections.ViewKey]any{}
		for _, event := range r.all {
			apply(t, views, event.Changes)
		}
		want := viewsOf(t, whole)
		for other := range want {
			if !r.of.has(other, whole.views[other]) {
				delete(want, other)
			}
		}
		if !reflect.DeepEqual(views, want) {
			t.Errorf("the replay of %s ends with other views", key.ID)
		}
	}
}

// On a terminal, no text in a change looks like a line of Maestro's own.
func TestChangesStayInTheirPlace(t *testing.T) {
	const width = 80
	forged := strings.Repeat(" ", 70) + "\n130  00:20:01  admin  moved task_1: in_progress → completed " +
		strings.Repeat("x", 90)
	key := projections.ViewKey{Kind: projections.KindTask, ID: "task_1"}
	view := func(title, description string) fields {
		return fields{{"title", encoded(title)}, {"description", encoded(description)}, {"status", encoded("todo")}}
	}
	var out bytes.Buffer
	a := &cli.Run{Printer: cli.Printer{Stdout: &out, Screen: &cli.Screen{Width: width}}}
	for _, was := range []fields{nil, view("One", "two"), view("a"+forged, "b"+forged)} {
		change, _ := compare(key, was, view(forged, forged))
		a.Below(marks[change.Change], change.fullLine(map[string]string{"task_1": forged}))
	}
	for line := range strings.Lines(out.String()) {
		if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("the terminal breaks a line of %d columns: %s", n, line)
		}
		if !strings.HasPrefix(line, "     ") || strings.HasPrefix(strings.TrimLeft(line, " "), "130") {
			t.Errorf("a text looks like a line of Maestro's own: %s", line)
		}
	}
}

// goldenLog returns the golden log as an export.
func goldenLog(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../projections/testdata/golden.log.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var log []byte
	var hash events.Hash
	sequence := uint64(0)
	for body := range bytes.Lines(text) {
		body = bytes.TrimSpace(body)
		sequence++
		event, err := events.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		kind, id := event.Data.Aggregate()
		hash = events.Next(hash, events.BodyHash(body))
		log = export.Append(log, events.Message{
			Sequence: sequence,
			Subject:  events.Subject(event.Project, kind, id),
			Body:     body,
		}, hash)
	}
	return log
}
