package compat

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) templateRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/templates",
		Name:    "template-create",
		Summary: "Create a template",
		Status:  http.StatusCreated,
		Body:    newTemplate{},
	}, row: "template:create"}, s.createTemplate)
	write(s, op{Route: route.Route{
		Method:  http.MethodPut,
		Path:    "/api/templates/{id}",
		Name:    "template-update",
		Summary: "Update a template",
		Body:    newTemplate{},
	}, row: "template:update"}, s.updateTemplate)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/templates/{id}/reset",
		Name:    "template-reset",
		Summary: "Reset a template to its original workflow",
	}}, s.resetTemplate)
	write(s, op{Route: route.Route{
		Method:  http.MethodDelete,
		Path:    "/api/templates/{id}",
		Name:    "template-delete",
		Summary: "Delete a template",
	}}, s.deleteTemplate)
}

// newTemplate is the body of POST and PUT.
type newTemplate struct {
	Name    *string      `json:"name,omitempty"`
	Role    *events.Role `json:"role,omitempty"`
	Content *string      `json:"content,omitempty"`
}

func (s *compat) showTemplate(id string) (body wire.Template, err error) {
	s.Handler.View(func(state *projections.State) {
		var ok bool
		if body, ok = s.TemplateIn(state, id); !ok {
			err = service.NotFound("Template", id)
		}
	})
	return body, err
}

func (s *compat) createTemplate(ctx context.Context, c *call, _ *struct{}) (wire.Template, error) {
	var body newTemplate
	if err := c.decode(ctx, &body); err != nil {
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
	answer, err := s.do(ctx, c, c.By, create, "")
	if err != nil {
		return wire.Template{}, err
	}
	created, ok := answer.Data.(*events.TemplateCreated)
	if !ok {
		return wire.Template{}, unexpected("template:create", answer)
	}
	return s.showTemplate(created.TemplateID)
}

func (s *compat) updateTemplate(ctx context.Context, c *call, in *wire.TemplateID) (wire.Template, error) {
	var body newTemplate
	if err := c.decode(ctx, &body); err != nil {
		return wire.Template{}, err
	}
	update := &commands.UpdateTemplate{TemplateID: in.ID, Name: body.Name, Content: body.Content}
	if _, err := s.do(ctx, c, c.By, update, ""); err != nil {
		return wire.Template{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *compat) resetTemplate(ctx context.Context, c *call, in *wire.TemplateID) (wire.Template, error) {
	if _, err := s.do(ctx, c, c.By, &commands.ResetTemplate{TemplateID: in.ID}, ""); err != nil {
		return wire.Template{}, err
	}
	return s.showTemplate(in.ID)
}

func (s *compat) deleteTemplate(ctx context.Context, c *call, in *wire.TemplateID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteTemplate{TemplateID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}
