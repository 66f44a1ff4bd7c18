package service

import (
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Templates holds the texts that prompts are generated from.
type Templates interface {
	// Own returns the built-in workflow for one of commands.OwnTemplates.
	Own(id string) (text string, ok bool)
	// Check returns what is wrong with a workflow, or nil.
	Check(text string) error
}

// ownTemplate returns a built-in template, changed or not.
func (s *Service) ownTemplate(state *projections.State, id string) wire.Template {
	body := wire.Template{
		ID:        id,
		Name:      "Default Worker Template",
		Role:      events.RoleWorker,
		IsDefault: true,
		Version:   0,
	}
	mode, strategy, _ := strings.Cut(id, "-")
	if mode == "coordinate" {
		body.Name, body.Role = "Default Orchestrator Template", events.RoleOrchestrator
	}
	if id != defaultTemplate(body.Role) {
		body.Name += " (" + strategy + ")"
	}
	if s.Templates != nil {
		body.Content, _ = s.Templates.Own(id)
	}
	if t := state.Template(id); t != nil {
		body.CreatedAt, body.UpdatedAt, body.Version = events.Millis(t.CreatedAt), events.Millis(t.UpdatedAt), t.Version
		if t.Name != "" {
			body.Name = t.Name
		}
		if t.Content != "" {
			body.Content, body.Changed = t.Content, true
		}
	}
	return body
}

// defaultTemplate is the template of a role's default strategy.
func defaultTemplate(role events.Role) string {
	if role == events.RoleOrchestrator {
		return "coordinate-default"
	}
	return "execute-simple"
}

// TemplateIn returns a template, or false.
func (s *Service) TemplateIn(state *projections.State, id string) (wire.Template, bool) {
	if slices.Contains(commands.OwnTemplates(), id) {
		return s.ownTemplate(state, id), true
	}
	t := state.Template(id)
	if t == nil {
		return wire.Template{}, false
	}
	body := wire.Template{
		ID:        t.ID,
		Name:      t.Name,
		Role:      t.Role,
		Content:   t.Content,
		CreatedAt: events.Millis(t.CreatedAt),
		UpdatedAt: events.Millis(t.UpdatedAt),
		Version:   t.Version,
	}
	if body.Content == "" {
		body.Content = s.ownTemplate(state, defaultTemplate(t.Role)).Content
	}
	return body, true
}

// ListTemplates returns the templates of prompts, the built-in ones first; those of a role unless it is "". The
// returned function finds them, and runs without the state.
func (v View) ListTemplates(role events.Role) (func() (Page[wire.Template], error), error) {
	if err := v.Permit("template:list", ""); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	own := map[string]bool{}
	for _, id := range commands.OwnTemplates() {
		own[id] = true
	}
	rest := []restOf{{ids: commands.OwnTemplates()}, {project: userTemplates, ids: v.TemplateIDs()}}
	return func() (Page[wire.Template], error) {
		return pageOf(v, asked, rest, func(v View, of, id string) (body wire.Template, shown bool) {
			if of == userTemplates && own[id] {
				return body, false // it is one of the built-in templates
			}
			body, shown = v.Service.TemplateIn(v.State, id)
			return body, shown && (role == "" || role == body.Role)
		})
	}, err
}

// userTemplates stands for a project in a list of templates: created or changed templates belong to none.
const userTemplates = "users"

// GetTemplate returns a template.
func (v View) GetTemplate(in *wire.TemplateID) (wire.Template, error) {
	if err := v.Permit("template:get", ""); err != nil {
		return wire.Template{}, err
	}
	body, ok := v.Service.TemplateIn(v.State, in.ID)
	if !ok {
		return wire.Template{}, NotFound("Template", in.ID)
	}
	return body, nil
}

// DefaultTemplate returns the template of a role's default strategy.
func (v View) DefaultTemplate(role events.Role) wire.Template {
	return v.Service.ownTemplate(v.State, defaultTemplate(role))
}

// checkTemplate refuses a workflow that no prompt can be generated from.
func (s *Service) checkTemplate(command commands.Command) error {
	var content *string
	switch x := command.(type) {
	case *commands.CreateTemplate:
		content = &x.Content
	case *commands.UpdateTemplate:
		content = x.Content
	}
	if s.Templates == nil || content == nil || strings.TrimSpace(*content) == "" || len(*content) > events.MaxText {
		return nil // the decision says what is wrong with it
	}
	if err := s.Templates.Check(*content); err != nil {
		return &commands.Refusal{
			Code:    commands.CodeInvalid,
			Pointer: "/content",
			Message: "The template cannot be used: " + err.Error(),
			Why:     "a workflow has five phases, and names commands by slots only",
			Next:    "start from a built-in one: `maestro template get execute-simple`",
		}
	}
	return nil
}

// KnownTemplate refuses the name of a template that does not exist.
func (s *Service) KnownTemplate(id string) (err error) {
	if id == "" {
		return nil
	}
	s.Handler.View(func(state *projections.State) {
		if _, ok := s.TemplateIn(state, id); !ok {
			err = NotFound("Template", id)
		}
	})
	return err
}
