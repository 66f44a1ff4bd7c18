package projections

import (
	"iter"

	"maestro/events"
)

// Template is the state of a text that prompts are generated from. Times are milliseconds since 1970. Immutable.
//
// Unchanged built-in templates are not in the state.
type Template struct {
	ID   string
	Name string
	Role events.Role
	// Content is "" for the built-in workflow.
	Content string
	// Version counts its changes.
	Version   int
	CreatedAt int64
	UpdatedAt int64
	CreatedBy string
	Deleted   bool
}

// Template returns a created or changed template, or nil.
func (s *State) Template(id string) *Template {
	if t := s.templates.get(id); t != nil && !t.Deleted {
		return t
	}
	return nil
}

// TemplateEver reports whether there is or was a template with this id in the log.
func (s *State) TemplateEver(id string) bool { return s.templates.get(id) != nil }

// TemplateIDs returns the created or changed templates, in that order, including deleted ones. The list does not
// change.
func (s *State) TemplateIDs() []string { return s.templateIDs }

// Templates returns the created or changed templates, in that order.
func (s *State) Templates() iter.Seq[*Template] {
	return func(yield func(*Template) bool) {
		for _, id := range s.templateIDs {
			if t := s.Template(id); t != nil && !yield(t) {
				return
			}
		}
	}
}

func (s *State) putTemplate(after *Template) {
	before := s.templates.get(after.ID)
	if before == nil {
		s.templateIDs = append(s.templateIDs, after.ID)
	}
	s.changes = append(s.changes, Change{KindTemplate, after.ID, before, after})
	s.templates.put(after.ID, after)
}

func (s *State) templateCreated(f fact, d *events.TemplateCreated) error {
	if s.TemplateEver(d.TemplateID) {
		return exists("template", d.TemplateID)
	}
	s.putTemplate(&Template{
		ID:        d.TemplateID,
		Name:      d.Name,
		Role:      d.Role,
		Content:   d.Content,
		Version:   1,
		CreatedAt: f.at,
		UpdatedAt: f.at,
		CreatedBy: f.Source,
	})
	return nil
}

// editTemplate returns a template to edit; the first change adds a built-in one to the state.
func (s *State) editTemplate(f fact, id string) (*Template, error) {
	before := s.Template(id)
	if before == nil {
		if s.TemplateEver(id) {
			return nil, missing("template", id)
		}
		return &Template{ID: id, CreatedAt: f.at, UpdatedAt: f.at}, nil
	}
	after := *before
	after.UpdatedAt = f.at
	return &after, nil
}

func (s *State) templateUpdated(f fact, d *events.TemplateUpdated) error {
	after, err := s.editTemplate(f, d.TemplateID)
	if err != nil {
		return err
	}
	set(&after.Name, d.Name)
	if d.Content != nil {
		after.Content = *d.Content
		after.Version++
	}
	s.putTemplate(after)
	return nil
}

func (s *State) templateReset(f fact, d *events.TemplateReset) error {
	after, err := s.editTemplate(f, d.TemplateID)
	if err != nil {
		return err
	}
	after.Content = ""
	after.Version++
	s.putTemplate(after)
	return nil
}

func (s *State) templateDeleted(f fact, d *events.TemplateDeleted) error {
	if s.Template(d.TemplateID) == nil {
		return missing("template", d.TemplateID)
	}
	after, err := s.editTemplate(f, d.TemplateID)
	if err != nil {
		return err
	}
	after.Deleted = true
	s.putTemplate(after)
	return nil
}
