package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/internal/plan"
	"maestro/service/wire"
)

// bodyOf returns a command as the client sends it.
func bodyOf(t *testing.T, command any) string {
	t.Helper()
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(command); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(body.String(), "\n")
}

// Every task that the server can have can be exported and applied: a field is at most as long as one update can make
// it, and the commands of an apply are no longer than that.
func TestTheLongestTaskIsAppliedAgain(t *testing.T) {
	const id = "task_0123456789"
	field := func(name, of string) string { return `{"taskId":"` + id + `","` + name + `":"` + of + `"}` }
	longest := strings.Repeat("<", commands.MaxRequest-len(field("description", "")))
	prompt := strings.Repeat("p", commands.MaxRequest-len(field("initialPrompt", "")))
	labels := make([]string, commands.LimitEntries.Value)
	for i := range labels {
		labels[i] = fmt.Sprintf("%s%03d", strings.Repeat("l", 190), i)
	}
	var task wire.Task
	task.ID, task.Title, task.Priority, task.Labels = id, "T", "low", labels
	task.Description, task.InitialPrompt = longest, prompt
	exported, err := plan.Of(&wire.Project{Name: "P"}, []wire.Task{task}).YAML()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(exported)
	if err != nil {
		t.Fatal(err)
	}
	d := plan.NewDiff(nil, "")
	d.Project = "proj_0123456789"
	create, _ := d.Create(&p.Tasks[0])
	update, _ := d.Update(&task, &p.Tasks[0], true)
	for name, sent := range map[string][]*commands.UpdateTask{
		"created": plan.SplitCreate(create), "updated": append(plan.SplitUpdate(update), update),
	} {
		said := bodyOf(t, create)
		if name == "updated" {
			said = ""
		}
		for _, part := range sent {
			part.TaskID = id
			body := bodyOf(t, part)
			if len(body) > commands.MaxRequest {
				t.Errorf("%s: a body of %d bytes", name, len(body))
			}
			said += body
		}
		for what, text := range map[string]string{"description": longest, "prompt": prompt, "label": labels[999]} {
			if strings.Count(said, text) != 1 {
				t.Errorf("%s: its %s is sent %d times", name, what, strings.Count(said, text))
			}
		}
	}
	if len(bodyOf(t, create)) > commands.MaxRequest {
		t.Error("the task is created with too long a body")
	}
	if _, err := plan.Parse([]byte("tasks:\n- {id: a, title: T, description: '" + longest + "<'}\n")); err == nil {
		t.Error("a description that no command can have is accepted")
	}
}
