package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// lines repeats a line n times, each time with its number.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

const oneTask = "tasks:\n- id: a\n  title: A\n"

// A plan above a bound is refused with the name of the bound and the line, and reading ends there.
func TestPlansAreBounded(t *testing.T) {
	for _, c := range []struct{ name, plan, want string }{
		{
			"dependencies of a task", oneTask + "  dependencies:\n" + lines(201, "  - d%d"),
			"line 205: a task has at most 200 dependencies",
		},
		{
			"dependencies of all", "tasks:\n" + lines(251, "- id: t%d\n  title: T\n  dependencies: ["+
				strings.TrimSuffix(strings.ReplaceAll(lines(200, "d%d"), "\n", ","), ",")+"]"),
			"a plan has at most 50000 dependencies",
		},
		{
			"tasks", "tasks:\n" + lines(MaxTasks+1, "- {id: t%d, title: T}"),
			"line 10002: a plan has at most 10000 tasks",
		},
		{
			"keys", oneTask + "  metadata:\n" + lines(1001, "    k%d: 1"),
			"line 5: an object in metadata has at most 1000 keys, this has 1001",
		},
		{"values", oneTask + "  metadata:\n    a:\n" + lines(20_000, "    - %d"), "metadata has at most 20000 values"},
		{
			"levels of metadata", oneTask + "  metadata: {a: " + strings.Repeat("[", 64) + strings.Repeat("]", 64) +
				"}\n",
			"line 4: metadata has at most 64 levels",
		},
		{
			"size of metadata", oneTask + "  metadata: {a: " + strings.Repeat("x", 65<<10) + "}\n",
			"line 4: metadata has at most 65536 bytes",
		},
		{
			"levels of parents", "tasks:\n- {id: t-1, title: T}\n" + parents(MaxDepth),
			"line 102: a plan has at most 100 levels of tasks",
		},
		{
			"dependents", "tasks:\n- {id: x, title: X}\n" +
				lines(MaxDependents+2, "- {id: t%d, title: T, dependencies: [x]}"),
			fmt.Sprintf("line %d: at most 1000 tasks can depend on one task, but more depend on \"x\"",
				MaxDependents+3),
		},
		{
			"an entry of a list", oneTask + "  acceptanceCriteria:\n  - a\n  - " + strings.Repeat("x", 64<<10+1) + "\n",
			"line 6: the text has 65537 bytes; an entry of a list has at most 65536",
		},
		{
			"a task", "tasks:\n- {id: a, title: A}\n- id: b\n  title: B\n  description: " +
				strings.Repeat("x", 1<<20) + "\n  initialPrompt: " + strings.Repeat("<", 100<<10) + "\n",
			"line 3: description has 1048578 bytes as JSON",
		},
		{"an alias", oneTask + "  metadata: {a: &x [1], b: *x}\n", "a plan may not use aliases"},
		{"a merge", oneTask + "  metadata: {<<: {a: 1}}\n", "line 4: a plan may not use aliases"},
		{"a key twice", oneTask + "  metadata: {a: 1, a: 2}\n", `the key "a" appears twice`},
		{"a key that is a number", oneTask + "  metadata: {a: {1: 2}}\n", "cannot be written as a JSON object"},
	} {
		_, err := Parse([]byte(c.plan))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.300v", c.name, err)
		}
	}
}

// parents returns n tasks, each the parent of the next.
func parents(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- {id: t%d, title: T, parent: t%d}\n", i, i-1)
	}
	return b.String()
}

// A plan within the bounds is read, and its metadata is unchanged.
func TestPlansAtTheirBounds(t *testing.T) {
	plan := "tasks:\n" + lines(200, "- {id: d%d, title: T}") + "- id: a\n  title: A\n  metadata:\n" + lines(1000,
		"    k%d: 1") +
		"  dependencies:\n" + lines(200, "  - d%d")
	p, err := Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	last := p.Tasks[len(p.Tasks)-1]
	var metadata map[string]int
	if err := json.Unmarshal(last.Metadata, &metadata); err != nil || len(metadata) != 1000 ||
		len(last.Dependencies) != 200 {
		t.Errorf("%d keys, %d dependencies, %v", len(metadata), len(last.Dependencies), err)
	}
	p, err = Parse([]byte(oneTask + "  metadata: {a: [1, 2.5, x, true, null, 2026-01-02], b: {c: \"1\"}, 3: y}\n"))
	want := `{"3":"y","a":[1,2.5,"x",true,null,"2026-01-02T00:00:00Z"],"b":{"c":"1"}}`
	if err != nil || string(p.Tasks[0].Metadata) != want {
		t.Errorf("got %s, %v", p.Tasks[0].Metadata, err)
	}
}

// A plan of ten times the size takes at most about twelve times the allocations, whatever it contains, and the length
// of the reported faults is bounded.
func TestParsingAPlanCostsWhatItIsLong(t *testing.T) {
	for name, plan := range map[string]func(n int) string{
		"dependencies":  func(n int) string { return oneTask + "  dependencies:\n" + lines(n, "  - d%d") },
		"metadata keys": func(n int) string { return oneTask + "  metadata:\n" + lines(n, "    k%d: 1") },
		"metadata objects": func(n int) string {
			return "tasks:\n" + lines(n/100, "- id: t%d\n  title: T\n  metadata: {"+strings.ReplaceAll(lines(100,
				"k%d: 1,"),
				"\n", " ")+"}")
		},
		"unknown keys":     func(n int) string { return oneTask + lines(n, "  x%d: 1") },
		"equal keys":       func(n int) string { return oneTask + strings.Repeat("  title: A\n", n) },
		"tasks without id": func(n int) string { return "tasks:\n" + strings.Repeat("- {title: T}\n", n) },
		"cycles": func(n int) string {
			var b strings.Builder
			b.WriteString("tasks:\n")
			for i := range n {
				fmt.Fprintf(&b, "- {id: t%d, title: T, dependencies: [t%d, t0]}\n", i, (i+1)%n)
			}
			return b.String()
		},
		"a chain of parents": func(n int) string { return "tasks:\n- {id: t-1, title: T}\n" + parents(n) },
		"open lists":         func(n int) string { return "tasks: " + strings.Repeat("[", n) },
		"a list of lists":    func(n int) string { return "tasks:\n" + strings.Repeat("- - a\n", n) },
	} {
		cost := func(n int) (allocations float64, told int) {
			content := []byte(plan(n))
			allocations = testing.AllocsPerRun(1, func() {
				_, err := Parse(content)
				told = 0
				if err != nil {
					told = len(err.Error())
				}
			})
			return allocations, told
		}
		few, _ := cost(500)
		many, told := cost(5000)
		if many > 12*few+1000 {
			t.Errorf("%s: %.0f allocations for 500, %.0f for 5,000", name, few, many)
		}
		if told > MaxFaults*1000 {
			t.Errorf("%s: the faults have %d bytes", name, told)
		}
	}
}

// A list that is too long is refused for its length alone: none of its entries is read or compared, so all faults of
// its entries are absent.
func TestTooLongListsAreNotRead(t *testing.T) {
	for key, bad := range map[string]string{
		"labels": "a,b", "acceptanceCriteria": "[]", "skills": "[]",
	} {
		_, err := Parse([]byte(oneTask + "  " + key + ":\n" + strings.Repeat("  - \""+bad+"\"\n", 1001)))
		if bad == "[]" {
			_, err = Parse([]byte(oneTask + "  " + key + ":\n" + strings.Repeat("  - []\n", 1001)))
		}
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.Count != 1 || !strings.Contains(err.Error(), "at most 1000") {
			t.Errorf("%s: %v", key, err)
		}
	}
	labels := strings.TrimSuffix(strings.ReplaceAll(lines(1000, "l%d"), "\n", ","), ",")
	if p, err := Parse([]byte(oneTask + "  labels: [" + labels + "]\n")); err != nil || len(p.Tasks[0].Labels) != 1000 {
		t.Errorf("as many labels as a task may have: %v", err)
	}
}

// The YAML library never sees directives, all of which it compares with each other, nor a second document, which may
// begin with some.
func TestPlansAreOneDocumentWithoutDirectives(t *testing.T) {
	for name, text := range map[string]string{
		"directives":                      lines(3, "%%TAG !e%d! tag:e%d,2000:") + "---\n" + oneTask,
		"a directive after a comment":     "# x\n\n%YAML 1.1\n---\n" + oneTask,
		"a directive after a mark":        "\ufeff%YAML 1.1\n---\n" + oneTask,
		"a directive after another break": "#x\u2028%YAML 1.1\n---\n" + oneTask,
		"one after a carriage return":     "#x\r%YAML 1.1\n---\n" + oneTask,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "a plan uses no directives") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"another document":       oneTask + "---\n" + oneTask,
		"an empty one":           oneTask + "---\n",
		"two beginnings":         "---\n---\n" + oneTask,
		"directives behind":      oneTask + "...\n%YAML 1.1\n---\n" + oneTask,
		"text behind":            oneTask + "...\n" + oneTask,
		"after another break":    oneTask + "\u0085--- a",
		"a document on its line": oneTask + "--- " + oneTask,
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "here a second one begins") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"one document":       "# a plan\n---\n" + oneTask + "...\n# that is all\n\n",
		"percents":           oneTask + "  description: |\n    %TAG\n    ---\n    ...\n",
		"a mark":             "\ufeff" + oneTask,
		"dashes":             oneTask + "  description: --- a\n",
		"a longer beginning": "---\r\n" + strings.ReplaceAll(oneTask, "\n", "\r\n"),
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What oneDocument lets pass is at most one document to the YAML library, too.
func FuzzOneDocument(f *testing.F) {
	for _, seed := range []string{
		oneTask, "---\na: 1\n...\n", "%YAML 1.1\n---\na", "a: \"\n%b\"\n", "a: |\n %b\n---\n", "\ufeff%a\n---\nb",
		"#\u0085%a\n---\nb", "'\n...'", "a\r---\rb", " %TAG", "[\n%TAG a\n]", "---\n%TAG ! b\n---\na",
		"...\n%YAML 1.1\n---\na", "-\n---", "?\n%",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if line, _ := oneDocument(text); line > 0 || !utf8.ValidString(text) {
			return
		}
		decoder := yaml.NewDecoder(strings.NewReader(text))
		documents := 0
		for ; decoder.Decode(new(yaml.Node)) == nil; documents++ {
			if documents > 0 {
				t.Fatalf("%q has more than one document", text)
			}
		}
	})
}
