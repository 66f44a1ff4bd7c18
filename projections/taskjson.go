package projections

import (
	"bytes"
	"encoding/json"
	"strconv"

	"maestro/events"
)

// AppendJSON appends the view as JSON, byte for byte as encoding/json does without HTML escapes. A list of tasks
// consists of views, and rendering them is most of its cost. What few tasks have goes through encoding/json.
func (v *TaskView) AppendJSON(b []byte) ([]byte, error) {
	o := object{b: append(b, '{')}
	o.text(`"id":`, v.ID)
	o.text(`,"projectId":`, v.ProjectID)
	if v.ParentID == nil {
		o.null(`,"parentId":`)
	} else {
		o.text(`,"parentId":`, *v.ParentID)
	}
	o.text(`,"title":`, v.Title)
	o.text(`,"description":`, v.Description)
	o.text(`,"status":`, string(v.Status))
	o.text(`,"priority":`, v.Priority)
	o.number(`,"createdAt":`, int64(v.CreatedAt))
	o.number(`,"updatedAt":`, int64(v.UpdatedAt))
	o.timeOrNull(`,"startedAt":`, v.StartedAt)
	o.timeOrNull(`,"completedAt":`, v.CompletedAt)
	o.text(`,"initialPrompt":`, v.InitialPrompt)
	o.texts(`,"sessionIds":`, v.SessionIDs)
	o.texts(`,"skillIds":`, v.SkillIDs)
	o.texts(`,"agentIds":`, v.AgentIDs)
	o.texts(`,"dependencies":`, v.Dependencies)
	o.textIfAny(`,"sessionStatus":`, string(v.SessionStatus))
	o.textIfAny(`,"saidBy":`, v.SaidBy)
	if v.Result != nil {
		o.value(`,"result":`, v.Result)
	}
	if v.StatusReason != nil {
		o.value(`,"statusReason":`, v.StatusReason)
	}
	if v.SessionReason != nil {
		o.value(`,"sessionReason":`, v.SessionReason)
	}
	if len(v.Says) > 0 {
		o.value(`,"says":`, v.Says)
	}
	if v.SaysMore != 0 {
		o.number(`,"saysMore":`, int64(v.SaysMore))
	}
	o.textIfAny(`,"model":`, v.Model)
	o.texts(`,"acceptanceCriteria":`, v.AcceptanceCriteria)
	if len(v.UnmetDependencies) > 0 {
		o.texts(`,"unmetDependencies":`, v.UnmetDependencies)
	}
	if len(v.GoneDependencies) > 0 {
		o.value(`,"goneDependencies":`, v.GoneDependencies)
	}
	o.textIfAny(`,"activeSessionId":`, v.ActiveSessionID)
	o.text(`,"createdBy":`, v.CreatedBy)
	if len(v.Queues) > 0 {
		o.value(`,"queues":`, v.Queues)
	}
	o.textIfAny(`,"planId":`, v.PlanID)
	if len(v.Labels) > 0 {
		o.texts(`,"labels":`, v.Labels)
	}
	if len(v.Metadata) > 0 {
		o.value(`,"metadata":`, v.Metadata)
	}
	if len(v.Blobs) > 0 {
		o.value(`,"blobs":`, v.Blobs)
	}
	if len(v.Redacted) > 0 {
		o.value(`,"redacted":`, v.Redacted)
	}
	if v.Progress != nil {
		o.value(`,"progress":`, v.Progress)
	}
	if len(v.Names) > 0 {
		o.value(`,"names":`, v.Names)
	}
	return append(o.b, '}'), o.err
}

// object is a JSON object in progress.
type object struct {
	b   []byte
	err error
}

// name appends a member's name as it is given: with what stands before and after it.
func (o *object) name(name string) { o.b = append(o.b, name...) }

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) timeOrNull(name string, at *events.Millis) {
	if at == nil {
		o.null(name)
	} else {
		o.number(name, int64(*at))
	}
}

func (o *object) text(name, text string) {
	o.name(name)
	o.b = events.AppendString(o.b, text)
}

func (o *object) textIfAny(name, text string) {
	if text != "" {
		o.text(name, text)
	}
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) texts(name string, texts []string) {
	if texts == nil {
		o.null(name)
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i, text := range texts {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = events.AppendString(o.b, text)
	}
	o.b = append(o.b, ']')
}

// value appends any other member through encoding/json.
func (o *object) value(name string, value any) {
	o.name(name)
	buffer := bytes.NewBuffer(o.b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		o.err = err
		return
	}
	o.b = bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})
}
