package manifest

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: no input causes a panic, faults are bounded and have valid pointers, and an accepted document is JSON and
// unchanged after it was written.
func FuzzParse(f *testing.F) {
	for _, c := range corpus(f) {
		if len(c.document) < 4096 {
			f.Add(c.document)
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		before := string(document)
		m, err := Parse(document)
		if string(document) != before {
			t.Fatal("the document was changed")
		}
		for _, pointer := range pointers(t, err) {
			if pointer != "" && !strings.HasPrefix(pointer, "/") {
				t.Fatalf("%q is not a pointer", pointer)
			}
		}
		if (m == nil) != (err != nil) {
			t.Fatalf("both a manifest and %v, or neither", err)
		}
		if err != nil {
			return
		}
		if !json.Valid(document) {
			t.Fatal("a text that is not JSON was accepted")
		}
		sameAgain(t, m)
		if axes := m.Axes(); axes.Strategy == "" || len(axes.Commands) == 0 {
			t.Fatalf("axes %+v", axes)
		}
	})
}

// FuzzSchema: Parse refuses everything that the schema refuses.
func FuzzSchema(f *testing.F) {
	schema := compiled(f)
	for _, c := range corpus(f) {
		if len(c.document) < 4096 {
			f.Add(c.document)
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		if _, err := Parse(document); err != nil {
			return
		}
		var value any
		if err := json.Unmarshal(document, &value); err != nil {
			return // a number too large for Go, in free JSON
		}
		if err := schema.Validate(value); err != nil {
			t.Fatalf("Parse accepts a document that the schema refuses: %v", err)
		}
	})
}

// FuzzSyntax: the scanner accepts the same JSON as encoding/json, except for depth, repeated names and half surrogate
// pairs.
func FuzzSyntax(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+7,"\u00e9\n",true,false,null,{}]}`, `[]`, `"\ud800"`, "1e5", " {} ",
		`{"a":}`, `[01]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		if envelope(document) != nil {
			return
		}
		s := &scanner{document: document}
		s.space()
		is := s.skip()
		s.space()
		is = is && s.at == len(document)
		if want := json.Valid(document); is != want && !strings.Contains(s.broken, "nested deeper") {
			t.Fatalf("JSON: %v, here: %v, %s", want, is, s.broken)
		}
		if s.broken == "" && is && (s.depth != 0 || len(s.names) != 0 || len(s.path) != 0) {
			t.Fatalf("the scanner ends at depth %d with %q, %v", s.depth, s.names, s.path)
		}
	})
}

// allocated returns the bytes that a call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestOversizedDocumentCostsNothing(t *testing.T) {
	large := []byte(`{"manifestVersion":"` + strings.Repeat("x", 50<<20) + `"}`)
	var err error
	if used := allocated(func() { _, err = Parse(large) }); used > 64<<10 {
		t.Errorf("refusing 50 MB took %d bytes", used)
	}
	if found := pointers(t, err); len(found) != 1 || found[0] != "" {
		t.Errorf("got %v", err)
	}
}

func TestDepth(t *testing.T) {
	nested := func(levels int) []byte {
		return []byte(with(t, `"projectId":"p1"`, `"projectId":"p1","metadata":{"d":`+strings.Repeat("[",
			levels)+strings.Repeat("]", levels)+"}"))
	}
	const outside = 4 // the manifest, its tasks, the task, its metadata
	if m, err := Parse(nested(MaxDepth - outside)); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	} else {
		sameAgain(t, m)
	}
	_, err := Parse(nested(MaxDepth - outside + 1))
	if found := pointers(t, err); len(found) != 1 || found[0] != "" || !strings.Contains(err.Error(),
		"nested deeper than 512") {
		t.Errorf("%d levels: %v", MaxDepth+1, err)
	}

	// A task outside a list gets one level deeper in a list.
	legacy := func(levels int) []byte {
		return []byte(strings.Replace(strings.Replace(string(nested(levels)), `"tasks":[{`, `"task":{`, 1),
			`}],"session"`, `},"session"`, 1))
	}
	if m, err := Parse(legacy(MaxDepth - outside)); err != nil {
		t.Errorf("legacy, %d levels: %v", MaxDepth-1, err)
	} else {
		sameAgain(t, m)
	}
	if _, err := Parse(legacy(MaxDepth - outside + 1)); err == nil {
		t.Error("a legacy task was accepted that cannot be read again")
	}

	for _, c := range []string{"[", `{"a":`, `{"custom":`} {
		deep := []byte(strings.Repeat(c, (15<<20)/len(c)))
		for _, document := range [][]byte{deep, []byte(`{"context":{"custom":` + string(deep)), []byte(`{"unknown":` +
			string(deep))} {
			if used := allocated(func() { _, err = Parse(document) }); used > 4<<20 {
				t.Errorf("%s… to the end took %d bytes", c, used)
			}
			if found := pointers(t, err); len(found) != 1 || found[0] != "" {
				t.Errorf("got %v", err)
			}
		}
	}
}

// The memory for the most expensive documents is a bounded multiple of their length.
func TestMemoryIsBounded(t *testing.T) {
	const size = 512 << 10
	fill := func(before, unit, after string) []byte {
		return []byte(before + strings.TrimSuffix(strings.Repeat(unit, size/len(unit)), ",") + after)
	}
	task := strings.TrimSuffix(minimal, `}],"session":{"model":"sonnet","permissionMode":"acceptEdits"}}`)
	rest := strings.TrimPrefix(minimal, task)
	for name, document := range map[string][]byte{
		"one text": fill(strings.Replace(minimal, "Fix login bug\"", "", 1)[:strings.Index(minimal,
			"Fix login bug")], "x", `"`+minimal[strings.Index(minimal, "Fix login bug")+len("Fix login bug")+1:]),
		"wrong items":        fill(`{"skills":[`, `7,`, `]}`),
		"empty objects":      fill(`{"tasks":[`, `{},`, `]}`),
		"dependencies":       fill(task+`,"dependencies":[`, `"a",`, `]`+rest),
		"circles":            fill(task+`,"dependencies":[`, `"t1",`, `]`+rest),
		"a free list":        fill(task+`,"metadata":{"a":[`, `1,`, `]}`+rest),
		"free empty objects": fill(task+`,"metadata":{"a":[`, `{"":0},`, `]}`+rest),
		"repeated names":     fill(task+`,"metadata":{`, `"a":0,`, `}`+rest),
		"line separators":    fill(task+`,"metadata":{"a":"`, "\u2028", `"}`+rest),
		"line separators in a text": []byte(strings.Replace(minimal, "Fix login bug", strings.Repeat("\u2028",
			(15<<20)/3), 1)),
	} {
		t.Run(name, func(t *testing.T) {
			var m *Manifest
			var err error
			if used := allocated(func() { m, err = Parse(document) }); used > 100*uint64(len(document)) {
				t.Errorf("a document of %d bytes took %d bytes", len(document), used)
			}
			pointers(t, err)
			if m != nil {
				sameAgain(t, m)
			}
			if slices.Contains([]string{
				"one text", "dependencies", "a free list", "free empty objects",
				"line separators",
			}, name) != (m != nil) {
				t.Errorf("got %v", err)
			}
		})
	}
}
