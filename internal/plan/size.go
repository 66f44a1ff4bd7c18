package plan

import (
	"bytes"
	"encoding/json"

	"maestro/commands"
)

// tooLong returns a field of the task that no command can carry alone, and its size as JSON; "" if there is none.
func (t *Task) tooLong() (field string, size int) {
	const widest = 6 // bytes of JSON for one byte of a text
	for _, of := range []struct {
		field string
		texts []string
		value any
	}{
		{"description", []string{t.Description}, t.Description},
		{"initialPrompt", []string{t.InitialPrompt}, t.InitialPrompt},
		{"acceptanceCriteria", t.AcceptanceCriteria, t.AcceptanceCriteria},
		{"skillIds", t.Skills, t.Skills},
		{"labels", t.Labels, t.Labels},
	} {
		most := 3 * len(of.texts)
		for _, text := range of.texts {
			most += widest * len(text)
		}
		if most < MaxTask/2 {
			continue
		}
		alone := len(`{"taskId":"task_0123456789","":}`) + len(of.field)
		if size = jsonSize(of.value); size+alone > MaxTask {
			return of.field, size
		}
	}
	return "", 0
}

// jsonSize returns the size of a value in the body of a request.
func jsonSize(value any) int {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return 0 // commands can always be marshalled
	}
	return body.Len() - 1 // the line break
}

// SplitCreate takes from the command that creates a task the longest fields until its body fits into a request, and
// returns the updates that set them. They lack the id of the task.
func SplitCreate(c *commands.CreateTask) (rest []*commands.UpdateTask) {
	for jsonSize(c) > MaxTask {
		u := &commands.UpdateTask{}
		switch longest(c.Description, c.InitialPrompt, c.AcceptanceCriteria, c.SkillIDs, c.Labels) {
		case 0:
			u.Description, c.Description = ptr(c.Description), ""
		case 1:
			u.InitialPrompt, c.InitialPrompt = ptr(c.InitialPrompt), ""
		case 2:
			u.AcceptanceCriteria, c.AcceptanceCriteria = ptr(c.AcceptanceCriteria), nil
		case 3:
			u.SkillIDs, c.SkillIDs = ptr(c.SkillIDs), nil
		case 4:
			u.Labels, c.Labels = ptr(c.Labels), nil
		}
		rest = append(rest, u)
	}
	return rest
}

// SplitUpdate is SplitCreate for the command that updates a task.
func SplitUpdate(c *commands.UpdateTask) (rest []*commands.UpdateTask) {
	for jsonSize(c) > MaxTask {
		u := &commands.UpdateTask{TaskID: c.TaskID}
		switch longest(c.Description, c.InitialPrompt, c.AcceptanceCriteria, c.SkillIDs, c.Labels) {
		case 0:
			u.Description, c.Description = c.Description, nil
		case 1:
			u.InitialPrompt, c.InitialPrompt = c.InitialPrompt, nil
		case 2:
			u.AcceptanceCriteria, c.AcceptanceCriteria = c.AcceptanceCriteria, nil
		case 3:
			u.SkillIDs, c.SkillIDs = c.SkillIDs, nil
		case 4:
			u.Labels, c.Labels = c.Labels, nil
		}
		rest = append(rest, u)
	}
	return rest
}

func ptr[T any](value T) *T { return &value }

// longest returns the index of the value that is the longest as JSON.
func longest(values ...any) (at int) {
	most := -1
	for i, value := range values {
		if n := jsonSize(value); n > most {
			at, most = i, n
		}
	}
	return at
}
