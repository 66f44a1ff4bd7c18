package events

// TemplateCreated: a prompt template was created.
type TemplateCreated struct {
	TemplateID string `json:"templateId" doc:"the new template"`
	Name       string `json:"name" doc:"as people call it"`
	Role       Role   `json:"role" doc:"worker or orchestrator: whose workflow it is"`
	Content    string `json:"content" doc:"the workflow, with slots for the commands that a session may use"`
}

// TemplateUpdated: the fields that are present have new values. It may be a built-in template.
type TemplateUpdated struct {
	TemplateID string  `json:"templateId" doc:"the template"`
	Name       *string `json:"name,omitempty" doc:"new name"`
	Content    *string `json:"content,omitempty" doc:"new workflow"`
}

// TemplateReset: the template's workflow was reset to the built-in one.
type TemplateReset struct {
	TemplateID string `json:"templateId" doc:"the template"`
}

// TemplateDeleted: the template is removed from the views; its history stays.
type TemplateDeleted struct {
	TemplateID string `json:"templateId" doc:"the template"`
}

var templateEvents = []Entry{
	entry[TemplateCreated]("A text that prompts are written by exists from now on."),
	entry[TemplateUpdated]("Fields of a template have new values."),
	entry[TemplateReset]("A template's workflow is Maestro's own again."),
	entry[TemplateDeleted]("A template is gone from the views."),
}

// EventType implements Data.
func (*TemplateCreated) EventType() string { return "maestro.template.created.v1" }

// EventType implements Data.
func (*TemplateUpdated) EventType() string { return "maestro.template.updated.v1" }

// EventType implements Data.
func (*TemplateReset) EventType() string { return "maestro.template.reset.v1" }

// EventType implements Data.
func (*TemplateDeleted) EventType() string { return "maestro.template.deleted.v1" }

// Aggregate implements Data.
func (d *TemplateCreated) Aggregate() (kind, id string) { return AggregateTemplate, d.TemplateID }

// Aggregate implements Data.
func (d *TemplateUpdated) Aggregate() (kind, id string) { return AggregateTemplate, d.TemplateID }

// Aggregate implements Data.
func (d *TemplateReset) Aggregate() (kind, id string) { return AggregateTemplate, d.TemplateID }

// Aggregate implements Data.
func (d *TemplateDeleted) Aggregate() (kind, id string) { return AggregateTemplate, d.TemplateID }

// Describe implements Data.
func (d *TemplateCreated) Describe() Description {
	return describe("created", "create", text(" template "+d.TemplateID), quoted(d.Name))
}

// Describe implements Data.
func (d *TemplateUpdated) Describe() Description {
	return describe("updated", "update", text(" template "+d.TemplateID))
}

// Describe implements Data.
func (d *TemplateReset) Describe() Description {
	return describe("reset", "reset", text(" template "+d.TemplateID))
}

// Describe implements Data.
func (d *TemplateDeleted) Describe() Description {
	return describe("deleted", "delete", text(" template "+d.TemplateID))
}

func (*TemplateCreated) sealed() {}
func (*TemplateUpdated) sealed() {}
func (*TemplateReset) sealed()   {}
func (*TemplateDeleted) sealed() {}
