package commands

import (
	"slices"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// OwnTemplates returns the ids of the built-in templates, one for each mode and strategy
// (docs/spec/002-prompt-contract.md, "Workflow Matrix"). They can be changed and reset, and always exist.
func OwnTemplates() []string {
	return []string{
		"execute-simple", "execute-queue", "execute-tree", "coordinate-default",
		"coordinate-intelligent-batching", "coordinate-dag",
	}
}

// CreateTemplate creates a text that prompts are generated from. docs/contract.md, "templateId"; compat: POST
// /api/templates.
type CreateTemplate struct {
	noTexts
	Name    string      `json:"name" doc:"the name that people use"`
	Role    events.Role `json:"role" doc:"the role that it is for: worker or orchestrator"`
	Content string      `json:"content" doc:"the workflow, with slots"`
}

// UpdateTemplate updates fields of a template, which may be a built-in one.
type UpdateTemplate struct {
	noTexts
	TemplateID string  `json:"templateId" doc:"the template"`
	Name       *string `json:"name,omitempty" flag:"\"<name>\"" doc:"new name"`
	Content    *string `json:"content,omitempty" doc:"new workflow"`
}

// ResetTemplate resets a template to its built-in workflow.
type ResetTemplate struct {
	noTexts
	TemplateID string `json:"templateId" doc:"the template"`
}

// DeleteTemplate removes a template from the views; built-in ones stay.
type DeleteTemplate struct {
	noTexts
	TemplateID string `json:"templateId" doc:"the template"`
}

// ID implements Command.
func (*CreateTemplate) ID() string { return "template:create" }

// ID implements Command.
func (*UpdateTemplate) ID() string { return "template:update" }

// ID implements Command.
func (*ResetTemplate) ID() string { return "template:reset" }

// ID implements Command.
func (*DeleteTemplate) ID() string { return "template:delete" }

func (*CreateTemplate) project(*projections.State, Actor) string { return "" }
func (*UpdateTemplate) project(*projections.State, Actor) string { return "" }
func (*ResetTemplate) project(*projections.State, Actor) string  { return "" }
func (*DeleteTemplate) project(*projections.State, Actor) string { return "" }

// Decide implements Command.
func (x *CreateTemplate) Decide(s *projections.State, c Call) (events.Data, error) {
	if strings.TrimSpace(x.Name) == "" || x.Role == "" || strings.TrimSpace(x.Content) == "" {
		return nil, invalid("", "name, role, and content are required")
	}
	if x.Role != events.RoleWorker && x.Role != events.RoleOrchestrator {
		return nil, invalid("/role", `Invalid role. Must be "worker" or "orchestrator"`)
	}
	if err := validTemplate(&x.Name, &x.Content); err != nil {
		return nil, err
	}
	return &events.TemplateCreated{
		TemplateID: newID("tmpl", c, s.TemplateEver),
		Name:       x.Name,
		Role:       x.Role,
		Content:    x.Content,
	}, nil
}

func (x *CreateTemplate) from(_ *events.Event, d *events.TemplateCreated) bool {
	*x = CreateTemplate{Name: d.Name, Role: d.Role, Content: d.Content}
	return true
}

func validTemplate(name, content *string) error {
	if name != nil {
		if strings.TrimSpace(*name) == "" {
			return invalid("/name", "name is empty")
		}
		if err := ValidLine("/name", *name, MaxName); err != nil {
			return err
		}
	}
	if content == nil {
		return nil
	}
	switch {
	case strings.TrimSpace(*content) == "":
		return invalid("/content", "content is empty")
	case len(*content) > events.MaxText:
		return invalid("/content", "content has at most %d bytes, this has %d", events.MaxText, len(*content))
	}
	return ValidText("/content", *content)
}

// template refuses a template that does not exist.
func template(s *projections.State, id string) error {
	if err := ValidID("/templateId", id); err != nil {
		return err
	}
	if s.Template(id) == nil && !slices.Contains(OwnTemplates(), id) {
		return notFound("Template", id)
	}
	return nil
}

// Decide implements Command.
func (x *UpdateTemplate) Decide(s *projections.State, _ Call) (events.Data, error) {
	if err := template(s, x.TemplateID); err != nil {
		return nil, err
	}
	if x.Name == nil && x.Content == nil {
		return nil, invalid("", "At least one of name or content is required")
	}
	if err := validTemplate(x.Name, x.Content); err != nil {
		return nil, err
	}
	return &events.TemplateUpdated{TemplateID: x.TemplateID, Name: x.Name, Content: x.Content}, nil
}

func (x *UpdateTemplate) from(_ *events.Event, d *events.TemplateUpdated) bool {
	*x = UpdateTemplate{TemplateID: d.TemplateID, Name: d.Name, Content: d.Content}
	return true
}

// Decide implements Command.
func (x *ResetTemplate) Decide(s *projections.State, _ Call) (events.Data, error) {
	if err := template(s, x.TemplateID); err != nil {
		return nil, err
	}
	if t := s.Template(x.TemplateID); t == nil || t.Content == "" {
		return nil, nil
	}
	return &events.TemplateReset{TemplateID: x.TemplateID}, nil
}

func (x *ResetTemplate) from(_ *events.Event, d *events.TemplateReset) bool {
	*x = ResetTemplate{TemplateID: d.TemplateID}
	return true
}

// Decide implements Command.
func (x *DeleteTemplate) Decide(s *projections.State, _ Call) (events.Data, error) {
	if err := template(s, x.TemplateID); err != nil {
		return nil, err
	}
	if slices.Contains(OwnTemplates(), x.TemplateID) {
		return nil, forbidden("sessions without a template of their own use it",
			"reset it with `maestro template reset "+x.TemplateID+"`",
			"Template '%s' is built in and cannot be deleted", x.TemplateID)
	}
	return &events.TemplateDeleted{TemplateID: x.TemplateID}, nil
}

func (x *DeleteTemplate) from(_ *events.Event, d *events.TemplateDeleted) bool {
	*x = DeleteTemplate{TemplateID: d.TemplateID}
	return true
}
