package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p, err := Parse([]byte(`
name: Sign-in
description: |
  Two
  lines.
workingDir: /srv/shop
tasks:
  - id: check
    title: "  Check it  "
    dependencies: [build, build]
    parent: all
  - id: all
    title: All of it
    priority: high
    tasks:
      - id: build
        title: 2026
        description: yes
        acceptanceCriteria: [it works, 100]
        initialPrompt: Look around first.
        skills: [go]
        model: haiku
        metadata: {ticket: SHOP-7, points: 3, done: false}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Plan{
		Name:        "Sign-in",
		Description: "Two\nlines.\n",
		WorkingDir:  "/srv/shop",
		Tasks: []Task{
			{
				ID:       "all",
				Title:    "All of it",
				Priority: "high",
				Place:    1,
				Line:     12,
			},
			{
				ID:                 "build",
				Title:              "2026",
				Description:        "yes",
				AcceptanceCriteria: []string{"it works", "100"},
				Parent:             "all",
				InitialPrompt:      "Look around first.",
				Skills:             []string{"go"},
				Model:              "haiku",
				Metadata:           []byte(`{"done":false,"points":3,"ticket":"SHOP-7"}`),
				Place:              2,
				Line:               16,
			},
			{
				ID:           "check",
				Title:        "Check it",
				Parent:       "all",
				Dependencies: []string{"build"},
				Line:         8,
			},
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name, plan string
		want       []string
	}{
		{"empty", "", []string{"line 1: the plan is empty"}},
		{"null", "# nothing\n~\n", []string{"line 2: expected keys and values, found a text"}},
		{"no tasks", "name: x\n", []string{"line 1: a plan needs tasks"}},
		{"empty tasks", "name: x\ntasks: []\n", []string{"line 2: a plan needs tasks"}},
		{"not YAML", "tasks:\n  - id: a\n title: b\n", []string{"line 2: this is not YAML: did not find expected key"}},
		{"not UTF-8", "name: \xff\n", []string{"line 1: a plan must be UTF-8 text, and this is not"}},
		{
			"two documents", "tasks: [{id: a, title: A}]\n---\ntasks: []\n",
			[]string{"line 2: a plan is one YAML document, and here a second one begins"},
		},
		{"everything at once", `name: x
tasks:
  - title: no id
  - id: a
  - id: a
    title: again
    dependencies: [nobody]
    priority: urgent
    colour: red
  - id: b
    title: ` + strings.Repeat("ü", 201) + `
    parent: nowhere
  - id: with space
    title: t
    acceptanceCriteria: one
  - just words
`, []string{
			`line 3: a task needs an id, which is any short word that no other task of the plan has`,
			`line 4: task "a" needs a title`,
			`line 5: the id "a" is taken by the task in line 4`,
			`line 7: it depends on "nobody", which is not in this file; to depend on another task of the project, ` +
				"leave it out here and add it afterwards with `maestro task update --add-depends-on`",
			`line 8: "urgent" is not a priority; it is low, medium, high or critical`,
			`line 9: there is no key "colour" here; there are acceptanceCriteria, dependencies, description, id, ` +
				`initialPrompt, labels, metadata, model, parent, priority, skills, tasks, title`,
			`line 11: at most 200 characters, this has 201`,
			`line 12: its parent "nowhere" is not in this file`,
			`line 13: the id "with space" contains a space`,
			`line 15: expected a list, found a text`,
			`line 16: expected keys and values, found a text`,
		}},
		{
			"key twice", "tasks:\n- id: a\n  title: A\n  title: B\n",
			[]string{`line 4: "title" was given in line 3 already`},
		},
		{
			"alias", "tasks:\n- &x\n  id: a\n  title: A\n- *x\n",
			[]string{"line 5: expected keys and values, found an alias, which a plan may not use"},
		},
		{
			"alias in metadata", "tasks:\n- id: a\n  title: A\n  metadata: {x: &y [1], z: *y}\n",
			[]string{"line 4: a plan may not use aliases"},
		},
		{
			"metadata no JSON", "tasks:\n- id: a\n  title: A\n  metadata: {x: .nan}\n",
			[]string{"line 4: this cannot be written as a JSON object: json: unsupported value: NaN"},
		},
		{"meant", "tasks:\n- id: a\n  title: A\n  dependsOn: []\n  Priority: low\n", []string{
			`line 4: there is no key "dependsOn" here; did you mean "dependencies"?`,
			`line 5: there is no key "Priority" here; did you mean "priority"?`,
		}},
		{
			"other parent",
			"tasks:\n- id: a\n  title: A\n  tasks:\n  - {id: b, title: B, parent: c}\n- {id: c, title: C}\n",
			[]string{
				`line 5: it is listed below "a", but names "c" as its parent`,
			},
		},
		{"itself", "tasks:\n- {id: a, title: A, dependencies: [a]}\n", []string{"line 2: a cycle: a waits for a"}},
		{"parents in a circle", "tasks:\n- {id: a, title: A, parent: b}\n- {id: b, title: B, parent: a}\n", []string{
			"line 2: a cycle: a is part of b, which is part of a",
		}},
		{
			"two circles",
			"tasks:\n- {id: a, title: A, dependencies: [b]}\n- {id: b, title: B, dependencies: [c]}\n" +
				"- {id: c, title: C, dependencies: [a]}\n- {id: d, title: D, dependencies: [d]}\n",
			[]string{
				"line 2: a cycle: a waits for b, which waits for c, which waits for a",
				"line 5: a cycle: d waits for d",
			},
		},
		{
			"a child that waits for what waits for its parent",
			"tasks:\n- id: a\n  title: A\n  tasks:\n  - {id: b, title: B, dependencies: [c]}\n" +
				"- {id: c, title: C, dependencies: [a]}\n",
			[]string{
				"line 2: a cycle: a contains b, which waits for c, which waits for a",
			},
		},
		{
			"a child that waits for its parent",
			"tasks:\n- id: a\n  title: A\n  tasks:\n  - id: b\n    title: B\n    tasks:\n    - id: c\n" +
				"      title: C\n      dependencies: [a]\n",
			[]string{
				`line 10: task "c" cannot wait for "a", which it is part of`,
			},
		},
		{
			"too long", strings.Repeat("#", MaxBytes+1),
			[]string{"line 1: a plan has at most 4194304 bytes, this has 4194305"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Parse([]byte(test.plan))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %+v, %v", p, err)
			}
			if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", err, strings.Join(test.want, "\n"))
			}
			for _, fault := range invalid.Faults {
				if fault.Pointer != "" && !strings.HasPrefix(fault.Pointer, "/") {
					t.Errorf("%q is not a JSON pointer", fault.Pointer)
				}
			}
		})
	}
}

func TestDeepNesting(t *testing.T) {
	var b strings.Builder
	for i := range MaxDepth + 5 {
		indent := strings.Repeat("  ", 2*i)
		fmt.Fprintf(&b, "%stasks:\n%s  - id: t%d\n%s    title: T\n", indent, indent, i, indent)
	}
	_, err := Parse([]byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "at most 100 levels") {
		t.Errorf("got %v", err)
	}
}

// Whatever order a plan lists its tasks in, each comes after its parent and its dependencies.
func TestOrder(t *testing.T) {
	var b strings.Builder
	b.WriteString("tasks:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "- {id: t%d, title: T", i)
		if i+5 < 50 {
			fmt.Fprintf(&b, ", dependencies: [t%d, t%d]", i+5, min(49, i+6))
		}
		if i%5 != 4 {
			fmt.Fprintf(&b, ", parent: t%d", i/5*5+4)
		}
		b.WriteString("}\n")
	}
	p, err := Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{"": true}
	for _, task := range p.Tasks {
		for _, before := range append([]string{task.Parent}, task.Dependencies...) {
			if !made[before] {
				t.Errorf("%s comes before %s", task.ID, before)
			}
		}
		made[task.ID] = true
	}
	if len(p.Tasks) != 50 {
		t.Errorf("%d tasks", len(p.Tasks))
	}
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/plan-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(content)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p.Name == "" {
			t.Errorf("%s has no name", file)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("tasks:\n- {id: a, title: A}\n")
	f.Add("tasks:\n- &x {id: a, title: A, tasks: [*x]}\n")
	f.Add("tasks: {<<: {}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		var invalid *InvalidError
		if (p == nil) == (err == nil) || err != nil && (!errors.As(err, &invalid) || len(invalid.Faults) == 0) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// Of many faults, the first ones are reported in the order of the lines, with the total number.
func TestManyFaults(t *testing.T) {
	var b strings.Builder
	b.WriteString("tasks:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - {id: t%d, titel: T}\n", i)
	}
	_, err := Parse([]byte(b.String()))
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 20 || invalid.Count != 120 {
		t.Fatalf("got %.200v", err)
	}
	if invalid.Faults[0].Line != 2 || invalid.Faults[19].Line != 11 {
		t.Errorf("the first faults are %v", invalid.Faults)
	}
	if text := err.Error(); strings.Count(text, "\n") != 20 || !strings.HasSuffix(text, "\nand 100 others") {
		t.Errorf("the error says %q", text)
	}
	if invalid.Cut {
		t.Error("the whole plan was read")
	}
	// After the end of reading, there may be more faults.
	for i := range 60 {
		fmt.Fprintf(&b, "  - {id: u%d, titel: T}\n", i)
	}
	_, err = Parse([]byte(b.String()))
	if !errors.As(err, &invalid) || !invalid.Cut || invalid.Count != MaxFaults ||
		!strings.HasSuffix(err.Error(), "\nand 180 or more others") {
		t.Errorf("got %v", err)
	}
}

// Parse reads what YAML writes: the same tasks, whatever their texts contain.
func TestExportedPlanIsParsed(t *testing.T) {
	texts := []string{
		"plain", "2026", "yes", "null", "~", "- a list", "a: b # c", `"quoted"`, "'single'", "two\nlines\n",
		"  spaces  ", "trailing\n\n", "\n", "\ttab", "{flow}", "[x]", "&anchor", "*alias", "!tag", "%directive", "@at",
		"1.50", "ünï ✓",
	}
	want := Plan{Name: "A: name", Description: "line\nline", WorkingDir: "/srv/a b"}
	for i, text := range texts {
		task := Task{
			ID:                 fmt.Sprintf("t%d", i),
			Title:              strings.Join(append(strings.Fields(text), "title"), " "),
			Description:        text,
			AcceptanceCriteria: []string{text, "b"},
			Priority:           "high",
			InitialPrompt:      text,
			Skills:             []string{text},
			Labels:             []string{"2026", "yes"},
			Metadata:           []byte(`{"a":[1,"1",null,true,{"b":2.5}],"yes":"no"}`),
		}
		if i > 0 {
			task.Parent = fmt.Sprintf("t%d", (i-1)/2)
			if i > 2 {
				task.Dependencies = []string{"t1"}
			}
		}
		if i == 3 || i == 4 || i >= 7 {
			task.Dependencies = nil // a task below t1 cannot depend on t1
		}
		want.Tasks = append(want.Tasks, task)
	}
	file, err := want.YAML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	byID := map[string]Task{}
	for _, task := range got.Tasks {
		task.Line, task.Place = 0, 0
		byID[task.ID] = task
	}
	if got.Name != want.Name || got.Description != want.Description || got.WorkingDir != want.WorkingDir {
		t.Errorf("got %q, %q, %q", got.Name, got.Description, got.WorkingDir)
	}
	for _, task := range want.Tasks {
		if !reflect.DeepEqual(byID[task.ID], task) {
			t.Errorf("got\n%+v\nwant\n%+v", byID[task.ID], task)
		}
	}
}

// A parent may wait for its parts: it waits for them anyway. The part is created after it, so it gets the dependency
// later. Other tasks come after what they wait for.
func TestParentsMayWaitForTheirParts(t *testing.T) {
	p, err := Parse([]byte("tasks:\n- id: a\n  title: A\n  dependencies: [b, c]\n  tasks:\n" +
		"  - {id: b, title: B}\n- {id: c, title: C}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Task{{ID: "a", Later: true}, {ID: "b"}, {ID: "c"}} {
		if got := p.Tasks[i]; got.ID != want.ID || got.Later != want.Later {
			t.Errorf("task %d: %s, later %v", i, got.ID, got.Later)
		}
	}
}
