package projections

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/events"
)

// fill sets every field of a value to something that is not zero, so that a field which an encoding forgets is noticed.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("<text> %d \u2028 ✓", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.SetMapIndex(key, value)
	default:
		t.Fatalf("fill does not know the kind %s: add it", v.Type())
	}
}

func filled[T any](t *testing.T, n *int) *T {
	t.Helper()
	value := new(T)
	fill(t, reflect.ValueOf(value).Elem(), n)
	return value
}

func TestEncodeKeepsEveryField(t *testing.T) {
	n := 0
	s := New()
	p, x, y, parent, session := filled[Project](t, &n), filled[Task](t, &n), filled[Task](t, &n), filled[Task](t, &n),
		filled[Session](t, &n)
	x.ProjectID, y.ProjectID, parent.ProjectID, session.ProjectID = p.ID, p.ID, p.ID, p.ID
	p.Root, p.Number = p.ID, 1 // derived from the creator of the project, and from its place
	x.ParentID, y.ParentID, parent.ParentID = parent.ID, parent.ID, ""
	s.projects.put(p.ID, p)
	s.projectIDs = []string{p.ID}
	for _, task := range []*Task{parent, x, y} {
		s.tasks.put(task.ID, task)
	}
	s.taskIDs.put(p.ID, []string{parent.ID, x.ID, y.ID})
	s.children.put(parent.ID, []string{x.ID, y.ID})
	s.restoreOrder([]*Task{parent, x, y})
	s.sessions.put(session.ID, session)
	s.sessionIDs.put(p.ID, []string{session.ID})
	s.referProject(p)
	s.referSession(session)
	for _, task := range []*Task{parent, x, y} {
		s.dependOn(task.ID, task.Dependencies)
		s.referTask(task)
		for _, said := range task.AllSays() {
			s.speaksOf(said.SessionID, task)
		}
	}
	q, item, done := filled[Queue](t, &n), filled[Item](t, &n), filled[Item](t, &n)
	q.ProjectID, item.ProjectID, done.ProjectID = p.ID, p.ID, p.ID
	item.Queue, done.Queue, item.Status, done.Status = q.Name, q.Name, events.ItemProcessing, events.ItemCompleted
	s.addQueue(q)
	for _, item := range []*Item{item, done} {
		s.enter(queueKey(p.ID, q.Name), itemKey(p.ID, q.Name, item.TaskID), item)
	}
	s.heldItems = s.heldItems.with(item.Started, itemKey(p.ID, q.Name, item.TaskID))
	shown, open, token := filled[Input](t, &n), filled[Input](t, &n), filled[Token](t, &n)
	shown.ProjectID, open.ProjectID, open.AnsweredAt, open.DeliveredAt = p.ID, p.ID, 0, 0
	s.inputs.put(shown.ID, shown)
	s.inputs.put(open.ID, open)
	s.inputIDs.put(p.ID, []string{shown.ID, open.ID})
	s.tokens.put(token.Name, token)
	s.tokenNames = []string{token.Name}
	template := filled[Template](t, &n)
	s.templates.put(template.ID, template)
	s.templateIDs = []string{template.ID}
	for _, m := range session.Mail {
		s.undelivered.put(session.ID, append(s.undelivered.get(session.ID), m.ID))
	}
	for sequence := range uint64(2) {
		s.ids = s.ids.with(uuid.UUID{byte(sequence) + 1})
		s.tape = s.tape.with(int64(sequence)+5, 1, MarkAsks) //nolint:gosec // a small number
		s.accepted.add(&s.ids, sequence+1)
	}
	s.head, s.genesis, s.at = events.Head{Sequence: 2, Hash: events.Hash{9}}, events.Hash{8}, time.Date(2026, 3, 1, 12,
		0, 0, 5e6, time.UTC)
	s.taskTimelines.put(x.ID, Timeline{PlaceAt(1, 0), PlaceAt(1, 1), PlaceAt(2, 1<<indexBits-1)})
	s.sessionTimelines.put(session.ID, Timeline{PlaceAt(1, 5) | markBare, PlaceAt(2, 0) | markLate | markTaskless})
	s.lastWords.put(session.ID, filled[Entry](t, &n))
	s.exits.put(session.ID, filled[Entry](t, &n))
	s.losses.put(session.ID, filled[Loss](t, &n))
	s.late.put(p.ID, []*Entry{filled[Entry](t, &n), filled[Entry](t, &n)})
	s.refer("sha256-entry", BlobRef{KindTaskTimeline, x.ID})
	s.taskTimelines.put("task_gone", Timeline{PlaceAt(2, 0)})
	s.unowned = []unowned{{ofTask, "task_gone"}}
	s.settle()

	b := encode(t, s)
	read, err := Decode([]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	for sequence := range uint64(2) {
		if at, ok := read.Accepted(uuid.UUID{byte(sequence) + 1}); !ok || at != sequence+1 {
			t.Errorf("the id of event %d is found at %d", sequence+1, at)
		}
	}
	read.accepted = s.accepted // its seed differs
	if !reflect.DeepEqual(read, s) {
		t.Errorf("read\n%+v\nwant\n%+v", read, s)
		for _, pair := range [][2]any{
			{read.projects.get(p.ID), p},
			{read.tasks.get(x.ID), x},
			{read.sessions.get(session.ID), session},
			{read.late.get(p.ID), s.late.get(p.ID)},
			{read.items.get(itemKey(p.ID, q.Name,
				item.TaskID)), item},
			{read.inputs.get(open.ID), open},
			{read.tokens.get(token.Name), token},
			{read.templates.get(template.ID), template},
		} {
			got, _ := json.Marshal(pair[0])
			want, _ := json.Marshal(pair[1])
			if !bytes.Equal(got, want) {
				t.Errorf("read %s\nwant %s", got, want)
			}
		}
	}
	if encode(t, read) != b {
		t.Error("encoding it again gives other bytes")
	}
}

func TestEncodeOfTheEmptyState(t *testing.T) {
	read, err := Decode([]byte(encode(t, New())))
	if err != nil || encode(t, read) != encode(t, New()) || show(t, read) != show(t, New()) {
		t.Errorf("%v", err)
	}
}

// A decoded state equals the original: the same bytes, the same views, and the fold continues from it with the same
// results.
func TestDecodeGoesOn(t *testing.T) {
	for seed := range uint64(20) {
		story := randomStory(t, seed, 120)
		cut := len(story) / 2
		whole, half := stateOf(t, story...), stateOf(t, story[:cut]...)
		again := stateOf(t, story[:cut]...)
		if encode(t, again) != encode(t, half) {
			t.Fatalf("seed %d: equal states give different bytes", seed)
		}
		read, err := Decode([]byte(encode(t, half)))
		if err != nil {
			t.Fatal(err)
		}
		if show(t, read) != show(t, half) {
			t.Fatalf("seed %d: the decoded state shows %s", seed, firstDifference(show(t, read), show(t, half)))
		}
		for _, g := range story[cut:] {
			apply(t, read, g)
		}
		if encode(t, read) != encode(t, whole) || show(t, read) != show(t, whole) {
			t.Fatalf("seed %d: from the decoded state the fold gives another result", seed)
		}
	}
}

// firstDifference finds the first difference of two long texts.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("in line %d\n%s\nwant\n%s", i, strings.Join(a[max(0, i-12):i+1], "\n"), b[i])
		}
	}
	return "another length"
}

// An image is taken at once, and does not change while the state changes.
func TestImageStays(t *testing.T) {
	story := randomStory(t, 3, 120)
	s := stateOf(t, story[:60]...)
	want := encode(t, s)
	image := s.Image()
	overlay := s.Overlay()
	for _, g := range story[60:] {
		apply(t, overlay, g)
	}
	overlay.Commit()
	got, err := image.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want || image.Head().Sequence != 60 || image.Genesis() != s.Genesis() {
		t.Error("the image changed with the state")
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := encode(t, stateOf(t, randomStory(t, 1, 40)...))
	for name, b := range map[string]string{
		"nothing": "", "no line": "{}", "no JSON": "x\n", "a list": "[]\n", "more behind it": good + "x",
		"a project that is null": `{"Projects":[null]}` + "\n",
		"a task that is null":    `{"Tasks":[null]}` + "\n",
		"a task without fields":  `{"Tasks":[{}]}` + "\n",
		"a session that is null": `{"Sessions":[null]}` + "\n",
		"a session without any":  `{"Sessions":[{}]}` + "\n",
		"a queue that is null":   `{"Queues":[null]}` + "\n",
		"an item that is null":   `{"Items":[null]}` + "\n",
		"an item of no queue": `{"Queues":[{"ProjectID":"p","Name":"a"}],"Items":[{"ProjectID":"p","Queue":"b"}]}` +
			"\n",
		"a question that is null": `{"Inputs":[null]}` + "\n",
		"a token that is null":    `{"Tokens":[null]}` + "\n",
		"a template that is null": `{"Templates":[null]}` + "\n",
		"fewer ids than events":   `{"Head":{"sequence":3}}` + "\n\x02" + strings.Repeat("i", 32) + "\x00",
		"ids that are not there":  `{"Head":{"sequence":2}}` + "\n\x02",
		"a huge number of ids":    `{"Head":{"sequence":18446744073709551615}}` + "\n\x80\x80\x01",
		"a huge timeline": `{"Head":{"sequence":1}}` + "\n\x01" + strings.Repeat("i", 16) +
			"\x01\x00\x01t\xff\xff\xff\xff\x0f\x01",
		"more segments": `{"Head":{"sequence":1}}` + "\n\x01" + strings.Repeat("i", 16) + "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Decode([]byte(b)); err == nil {
				t.Errorf("decoded to %+v", s)
			}
		})
	}
	for i := range len(good) {
		if _, err := Decode([]byte(good[:i])); err == nil {
			t.Fatalf("a state cut at %d of %d bytes is decoded", i, len(good))
		}
	}
}

// FuzzDecode: Decode returns for every input, and what it accepts can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(3) {
		f.Add([]byte(encode(f, stateOf(f, randomStory(f, seed, 30)...))))
	}
	f.Add([]byte(encode(f, New())))
	f.Add([]byte(`{"Projects":[null],"Tasks":[{}],"Sessions":[{"ID":"x"}],"Entries":1}` + "\n\x01\x00\x00\x00\x00\x09"))
	f.Add([]byte(encode(f, stateOf(f, goldenStory()...))))
	f.Add([]byte(`{"Projects":[{"ID":"p"}],` +
		`"Sessions":[{"ID":"w","ProjectID":"p","Deadline":1,"LastItem":{"Queue":"a","TaskID":"t","Held":true}}],` +
		`"Queues":[{"ProjectID":"p","Name":"a"}],` +
		`"Items":[{"ProjectID":"p","Queue":"a","TaskID":"t","Status":"queued"},` +
		`{"ProjectID":"p","Queue":"a","TaskID":"t","Status":"processing"}],` +
		`"Inputs":[{"ID":"i","ProjectID":"p"}],"Tokens":[{"Name":"ci"},{"Name":"ci"}]}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode([]byte(encode(t, s)))
		if err != nil {
			t.Fatalf("a decoded state was encoded, and cannot be decoded again: %v", err)
		}
		show(t, again)
	})
}
