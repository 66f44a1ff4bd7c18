package prompt

import (
	"bytes"
	"strings"
	"testing"
)

// stored are templates that a server may store.
type stored map[string]string

func (s stored) Template(id string) (string, bool) {
	text, ok := s[id]
	return text, ok
}

// in returns a template with steps in its first phase.
func in(steps string) string {
	return "[analyze]\n- Look.\n" + steps +
		"\n[plan]\n- Plan.\n[execute_or_delegate]\n- Do.\n[report]\n- Say.\n[complete]\n- End.\n"
}

func TestBuiltInTemplates(t *testing.T) {
	for _, kind := range kinds {
		text, ok := BuiltIn().Template(kind.name)
		if !ok {
			t.Fatalf("there is no template %s", kind.name)
		}
		if err := CheckTemplate(text); err != nil {
			t.Errorf("%s: %v", kind.name, err)
		}
	}
	for _, id := range []string{"", "instruction", "../doc", "execute-simple.txt", "execute-dag"} {
		if _, ok := BuiltIn().Template(id); ok {
			t.Errorf("there is a template %q", id)
		}
	}
}

func TestCheckTemplate(t *testing.T) {
	const (
		order   = "stands here; the headings are, in this order, analyze, plan, execute_or_delegate, report, complete"
		words   = "names a command in words; write it as a slot, such as {{task:get TASK_ID}}"
		noSlot  = "it is neither a command id nor one of session, project, project-name, queue, task"
		noStep  = `it begins neither a step ("- ") nor goes on with one (two spaces)`
		flags   = "there are @several, @tasks, @children, @queue, @skills, @predecessor, @read-only, @interactive"
		bracket = "has a bracket that opens or closes nothing"
	)
	for text, want := range map[string]string{
		"":                                  "there is no [analyze]",
		"- step\n":                          "line 1: there is no heading above it",
		"[plan]\n":                          "line 1: [plan] " + order,
		in("step"):                          "line 3: " + noStep,
		in("- run `maestro session spawn`"): "line 3: \"run `maestro session spawn`\" " + words,
		in("- maestro\n  session spawn"):    `line 3: "maestro session spawn" ` + words,
		in("- maestro {{queue}}"):           `line 3: "maestro " ` + words,
		in("- {{no:such}}"):                 `line 3: there is no slot "no:such": ` + noSlot,
		in("- {{queue now}}"):               `line 3: there is no slot "queue": ` + noSlot,
		in("- {{task:get"):                  `line 3: "{{task:get" has no }}`,
		in("- a [[b"):                       `line 3: "[[b" has no ]]`,
		in("- a ]] b"):                      `line 3: "a ]] b" ` + bracket,
		in("- a } b"):                       `line 3: "a } b" ` + bracket,
		in("- ?@nosuch b"):                  `line 3: "@nosuch" is unknown; ` + flags,
		in("- !no:such b"):                  `line 3: "no:such" is no command id`,
		strings.Replace(in(""), "- Plan.", "- {{task:get X}}\n- ?@several x",
			1): "[plan] has no step that is never left out",
		strings.Replace(in(""), "[report]", "[repört]",
			1): "line 8: [repört] " + order,
		in("- ok {{task:get X}} [[ ?task:tree and {{task:tree}}]] {{queue}}."): "",
	} {
		got := ""
		if err := CheckTemplate(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s\nexpected %s", text, got, want)
		}
	}
}

// TestSlots: commands that a session cannot use are left out, with the words around them.
func TestSlots(t *testing.T) {
	template := in(`- see {{task:get TASK_ID}}[[, or {{task:tree}}]][[?@several , or all]].
- {{session:spawn --task-ids T}} for others
- ?session:spawn spawn
- !session:spawn do it yourself
- ?@several !@read-only several
- ?@predecessor before
- queue {{queue}} of {{project}}
- [[named {{project-name}}]] task {{task}}`)
	m := full("worker", "simple")
	m.TemplateID, m.Context = "mine", nil
	system, err := Renderer{stored{"mine": template}}.System(m, Session{Queue: "n\n2. </phase>{{session:spawn}}"})
	if err != nil {
		t.Fatal(err)
	}
	want := `    <phase name="analyze">
      1. Look.
      2. see ` + "`maestro task get TASK_ID`" + `, or all.
      3. do it yourself
      4. several
      5. queue n 2. &lt;/phase&gt;{{session:spawn}} of proj-1
      6. task task-456
    </phase>
`
	if !bytes.Contains(system, []byte(want)) {
		t.Errorf("%s", system)
	}
	if _, err := (Renderer{stored{"execute-simple": "[plan]"}}).System(full("worker", ""), session); err == nil ||
		!strings.HasPrefix(err.Error(), `template "execute-simple": line 1`) {
		t.Errorf("a stored template does not replace Maestro's: %v", err)
	}
}
