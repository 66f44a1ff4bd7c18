package api

import (
	"context"
	"net/http"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// newTemplate is the body of older clients' POST and PUT.
type newTemplate struct {
	Name    *string      `json:"name,omitempty"`
	Role    *events.Role `json:"role,omitempty"`
	Content *string      `json:"content,omitempty"`
}

func (s *server) templateRoutes() {
	read(s, op{
		path:    "/api/templates",
		name:    "template-list",
		summary: "The templates of prompts: Maestro's own first",
	}, bare(service.View.ListTemplates))
	read(s, op{path: "/api/templates/{id}", name: "template-get", summary: "A template"}, service.View.GetTemplate)
	read(s, op{
		path:    "/api/templates/role/{role}",
		name:    "template-role",
		summary: "The templates of a role",
	}, service.View.ListTemplatesOfRole)
	read(s, op{
		path:    "/api/templates/default/{role}",
		name:    "template-default",
		summary: "The default workflow of a role",
	}, service.View.GetDefaultTemplate)
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

func (s *server) showTemplate(id string) (body wire.Template, err error) {
	s.Handler.View(func(state *projections.State) {
		var ok bool
		if body, ok = s.TemplateIn(state, id); !ok {
			err = service.NotFound("Template", id)
		}
	})
	return body, err
}

func (s *server) createTemplate(ctx context.Context, c *call, _ *struct{}) (wire.Template, error) {
	var body newTemplate
	if err := c.decode(&body); err != nil {
		return wire.Template{}, err
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
		return wire.Template{}, err
	}
	created, ok := answer.Data.(*events.TemplateCreated)
	if !ok {
		return wire.Template{}, unexpected("template:create", answer)
	}
	return s.showTemplate(created.TemplateID)
}

// doTemplate brings a command on a template through; who may not use it learns nothing of what is wrong with its text.
func (s *server) doTemplate(ctx context.Context, c *call, row string, command commands.Command) (engine.Answer, error) {
	if s.Permit(c.Caller, row, "") == nil {
		if err := s.CheckTemplate(command); err != nil {
			return engine.Answer{}, err
		}
	}
	return s.do(ctx, c, c.By, command, "")
}

func (s *server) updateTemplate(ctx context.Context, c *call, in *wire.TemplateID) (wire.Template, error) {
	var body newTemplate
	if err := c.decode(&body); err != nil {
		return wire.Template{}, err
	}
	update := &commands.UpdateTemplate{TemplateID: in.ID, Name: body.Name, Content: body.Content}
	if _, err := s.doTemplate(ctx, c, "template:update", update); err != nil {
		return wire.Template{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *server) resetTemplate(ctx context.Context, c *call, in *wire.TemplateID) (wire.Template, error) {
	if _, err := s.do(ctx, c, c.By, &commands.ResetTemplate{TemplateID: in.ID}, ""); err != nil {
		return wire.Template{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *server) deleteTemplate(ctx context.Context, c *call, in *wire.TemplateID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteTemplate{TemplateID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}
