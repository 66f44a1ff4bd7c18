package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// Templates knows the texts that prompts are written by.
type Templates interface {
	// Own gives the workflow that Maestro comes with for one of commands.OwnTemplates.
	Own(id string) (text string, ok bool)
	// Check says what is wrong with a workflow, or nil.
	Check(text string) error
}

// templateBody shows a template as older clients know it, with more members.
type templateBody struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Role      events.Role `json:"role"`
	Content   string      `json:"content"`
	IsDefault bool        `json:"isDefault"`
	CreatedAt int64       `json:"createdAt"`
	UpdatedAt int64       `json:"updatedAt"`
	// Version counts its contents, Changed says of one of Maestro's own that it is not what Maestro comes with.
	Version int  `json:"version"`
	Changed bool `json:"changed,omitempty"`
}

type templateID struct {
	ID string `path:"id" doc:"the template"`
}

type templateRole struct {
	Role string `path:"role" doc:"worker or orchestrator"`
}

// newTemplate is the body of older clients' POST and PUT.
type newTemplate struct {
	Name    *string      `json:"name,omitempty"`
	Role    *events.Role `json:"role,omitempty"`
	Content *string      `json:"content,omitempty"`
}

// roleContent is the default workflow of a role.
type roleContent struct {
	Role    events.Role `json:"role"`
	Content string      `json:"content"`
}

func (s *server) templateRoutes() {
	read(s, op{
		path:    "/api/templates",
		name:    "template-list",
		summary: "The templates of prompts: Maestro's own first",
	}, listTemplates)
	read(s, op{path: "/api/templates/{id}", name: "template-get", summary: "A template"}, getTemplate)
	read(s, op{
		path:    "/api/templates/role/{role}",
		name:    "template-role",
		summary: "The templates of a role",
	}, templatesOfRole)
	read(s, op{
		path:    "/api/templates/default/{role}",
		name:    "template-default",
		summary: "The default workflow of a role",
	}, defaultOfRole)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/templates",
		name:    "template-create",
		summary: "Make a template",
		status:  http.StatusCreated,
		body:    newTemplate{},
		row:     "template:create",
	}, s.createTemplate)
	write(s, op{
		method:  http.MethodPut,
		path:    "/api/templates/{id}",
		name:    "template-update",
		summary: "Give fields of a template new values",
		body:    newTemplate{},
		row:     "template:update",
	}, s.updateTemplate)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/templates/{id}/reset",
		name:    "template-reset",
		summary: "Give a template the workflow that Maestro comes with",
	}, s.resetTemplate)
	write(s, op{
		method:  http.MethodDelete,
		path:    "/api/templates/{id}",
		name:    "template-delete",
		summary: "Delete a template",
	}, s.deleteTemplate)
}

// ownTemplate is one of Maestro's own, changed or not.
func (s *server) ownTemplate(state *projections.State, id string) templateBody {
	body := templateBody{ID: id, Name: "Default Worker Template", Role: events.RoleWorker, IsDefault: true, Version: 0}
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
		body.CreatedAt, body.UpdatedAt, body.Version = t.CreatedAt, t.UpdatedAt, t.Version
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

// template gives a template, or false.
func (s *server) template(state *projections.State, id string) (templateBody, bool) {
	if slices.Contains(commands.OwnTemplates(), id) {
		return s.ownTemplate(state, id), true
	}
	t := state.Template(id)
	if t == nil {
		return templateBody{}, false
	}
	body := templateBody{
		ID:        t.ID,
		Name:      t.Name,
		Role:      t.Role,
		Content:   t.Content,
		CreatedAt: t.CreatedAt,
		UpdatedAt: t.UpdatedAt,
		Version:   t.Version,
	}
	if body.Content == "" {
		body.Content = s.ownTemplate(state, defaultTemplate(t.Role)).Content
	}
	return body, true
}

func (v view) templates() []templateBody {
	bodies := []templateBody{}
	for _, id := range commands.OwnTemplates() {
		bodies = append(bodies, v.server.ownTemplate(v.State, id))
	}
	for t := range v.Templates() {
		if !slices.Contains(commands.OwnTemplates(), t.ID) {
			body, _ := v.server.template(v.State, t.ID)
			bodies = append(bodies, body)
		}
	}
	return bodies
}

func listTemplates(v view, _ *struct{}) ([]templateBody, error) {
	return v.templates(), v.permit("whoami", "")
}

func getTemplate(v view, in *templateID) (templateBody, error) {
	if err := v.permit("whoami", ""); err != nil {
		return templateBody{}, err
	}
	body, ok := v.server.template(v.State, in.ID)
	if !ok {
		return templateBody{}, notFound("Template", in.ID)
	}
	return body, nil
}

func validRole(role string) error {
	if role != string(events.RoleWorker) && role != string(events.RoleOrchestrator) {
		return routeInvalid("/role", `Invalid role. Must be "worker" or "orchestrator"`)
	}
	return nil
}

func templatesOfRole(v view, in *templateRole) ([]templateBody, error) {
	if err := v.permit("whoami", ""); err != nil {
		return nil, err
	}
	if err := validRole(in.Role); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(v.templates(), func(t templateBody) bool { return string(t.Role) != in.Role }), nil
}

func defaultOfRole(v view, in *templateRole) (roleContent, error) {
	if err := v.permit("whoami", ""); err != nil {
		return roleContent{}, err
	}
	if err := validRole(in.Role); err != nil {
		return roleContent{}, err
	}
	role := events.Role(in.Role)
	return roleContent{role, v.server.ownTemplate(v.State, defaultTemplate(role)).Content}, nil
}

// checkTemplate refuses a workflow that no prompt could be written by.
func (s *server) checkTemplate(command commands.Command) error {
	var content *string
	switch x := command.(type) {
	case *commands.CreateTemplate:
		content = &x.Content
	case *commands.UpdateTemplate:
		content = x.Content
	}
	if s.Templates == nil || content == nil || strings.TrimSpace(*content) == "" || len(*content) > events.MaxText {
		return nil // what is wrong with it, the decision says
	}
	if err := s.Templates.Check(*content); err != nil {
		return &commands.Refusal{
			Code: commands.CodeInvalid, Pointer: "/content", Message: "The template cannot be used: " + err.Error(),
			Why:  "a workflow has five phases, and names commands by slots only",
			Next: "begin with one of Maestro's own: `maestro template get execute-simple`",
		}
	}
	return nil
}

// knownTemplate refuses the name of a template that is not there.
func (s *server) knownTemplate(id string) (err error) {
	if id == "" {
		return nil
	}
	s.Handler.View(func(state *projections.State) {
		if _, ok := s.template(state, id); !ok {
			err = notFound("Template", id)
		}
	})
	return err
}

func (s *server) showTemplate(id string) (body templateBody, err error) {
	s.Handler.View(func(state *projections.State) {
		var ok bool
		if body, ok = s.template(state, id); !ok {
			err = notFound("Template", id)
		}
	})
	return body, err
}

func (s *server) createTemplate(ctx context.Context, c *call, _ *struct{}) (templateBody, error) {
	var body newTemplate
	if err := c.decode(&body); err != nil {
		return templateBody{}, err
	}
	create := new(commands.CreateTemplate)
	if body.Name != nil {
		create.Name = *body.Name
	}
	if body.Role != nil {
		create.Role = *body.Role
	}
	if body.Content != nil {
		create.Content = *body.Content
	}
	answer, err := s.doTemplate(ctx, c, "template:create", create)
	if err != nil {
		return templateBody{}, err
	}
	created, ok := answer.Data.(*events.TemplateCreated)
	if !ok {
		return templateBody{}, unexpected("template:create", answer)
	}
	return s.showTemplate(created.TemplateID)
}

// doTemplate brings a command on a template through; who may not use it learns nothing of what is wrong with its text.
func (s *server) doTemplate(ctx context.Context, c *call, row string, command commands.Command) (engine.Answer, error) {
	if s.permit(c, row, "") == nil {
		if err := s.checkTemplate(command); err != nil {
			return engine.Answer{}, err
		}
	}
	return s.do(ctx, c, c.by, command, "")
}

func (s *server) updateTemplate(ctx context.Context, c *call, in *templateID) (templateBody, error) {
	var body newTemplate
	if err := c.decode(&body); err != nil {
		return templateBody{}, err
	}
	update := &commands.UpdateTemplate{TemplateID: in.ID, Name: body.Name, Content: body.Content}
	if _, err := s.doTemplate(ctx, c, "template:update", update); err != nil {
		return templateBody{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *server) resetTemplate(ctx context.Context, c *call, in *templateID) (templateBody, error) {
	if _, err := s.do(ctx, c, c.by, &commands.ResetTemplate{TemplateID: in.ID}, ""); err != nil {
		return templateBody{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *server) deleteTemplate(ctx context.Context, c *call, in *templateID) (deleted, error) {
	_, err := s.do(ctx, c, c.by, &commands.DeleteTemplate{TemplateID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}
