package simulation

import (
	"fmt"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// ownTemplates are the ids of the templates that Maestro comes with: one for each mode and strategy, transcribed from document 002.
var ownTemplates = []string{
	"execute-simple", "execute-queue", "execute-tree", "coordinate-default", "coordinate-intelligent-batching", "coordinate-dag",
}

// template is a text that prompts are written by: one that was made, or one of Maestro's own that was changed.
type template struct {
	name, role, content string
	version             int
	deleted             bool
}

// aTemplate reports whether there is a template: Maestro's own are always there, whether or not anything is known of them.
func (m *model) aTemplate(id string) (template, bool) {
	t, known := m.templates[id]
	return t, contains(ownTemplates, id) || known && !t.deleted
}

func blank(text *string) bool { return text == nil || strings.TrimSpace(*text) == "" }

func (m *model) judgeTemplate(w wish) verdict {
	f := w.fields
	tooLong := f.Name != nil && len(*f.Name) > 200 || f.Content != nil && len(*f.Content) > 64*1024
	if w.id == "template:create" {
		if blank(f.Name) || blank(f.Content) || tooLong || f.Role != "worker" && f.Role != "orchestrator" {
			return isInvalid
		}
		return becomesEvent
	}
	t, there := m.aTemplate(f.TemplateID)
	switch {
	case badID(f.TemplateID):
		return isInvalid
	case !there:
		return notFound
	}
	switch w.id {
	case "template:update":
		if f.Name == nil && f.Content == nil || f.Name != nil && blank(f.Name) || f.Content != nil && blank(f.Content) || tooLong {
			return isInvalid
		}
	case "template:reset":
		if t.content == "" {
			return alreadySo
		}
	case "template:delete":
		if contains(ownTemplates, f.TemplateID) {
			return againstRule
		}
	}
	return becomesEvent
}

// nextTemplate folds what a command on a template became.
func (m *model) nextTemplate(w wish, d made) error {
	f := w.fields
	id := f.TemplateID
	t, known := m.templates[id]
	switch w.id {
	case "template:create":
		id = d.TemplateID
		if _, taken := m.templates[id]; taken || contains(ownTemplates, id) || id == "" {
			return fmt.Errorf("the new template has the id %q, which is no new one", id)
		}
		t = template{name: *f.Name, role: f.Role, content: *f.Content, version: 1}
		if d.Role != t.role || d.Name != t.name || d.Content != t.content {
			return fmt.Errorf("the template %+v became %q (%s) with %q", t, d.Name, d.Role, d.Content)
		}
	case "template:update":
		if f.Name != nil {
			t.name = *f.Name
		}
		if f.Content != nil {
			t.content = *f.Content
			t.version++
		}
	case "template:reset":
		t.content = ""
		t.version++
	case "template:delete":
		t.deleted = true
	}
	if d.TemplateID != id {
		return fmt.Errorf("it became an event of template %q, expected %q", d.TemplateID, id)
	}
	if m.templates[id] = t; !known {
		m.templateIDs = append(m.templateIDs, id)
	}
	return nil
}

func (m *model) compareTemplates(s *projections.State) error {
	var shown []string
	for t := range s.Templates() {
		shown = append(shown, t.ID)
	}
	for _, id := range m.templateIDs {
		t, is := m.templates[id], s.Template(id)
		if t.deleted {
			if is != nil {
				return fmt.Errorf("the deleted template %s is shown as %+v", id, is)
			}
			continue
		}
		if len(shown) == 0 || shown[0] != id {
			return fmt.Errorf("next in the list of templates are %q, expected %s", shown, id)
		}
		shown = shown[1:]
		if is == nil || is.Name != t.name || string(is.Role) != t.role || is.Content != t.content || is.Version != t.version {
			return fmt.Errorf("template %s is shown as %+v, expected %+v", id, is, t)
		}
	}
	if len(shown) > 0 {
		return fmt.Errorf("the templates %q are shown, and are none", shown)
	}
	return nil
}

func (c composer) ofTemplate(f *fields, id string) {
	f.Project = ""
	if id != "template:create" {
		f.TemplateID = c.template()
	}
	if id == "template:reset" || id == "template:delete" {
		return
	}
	if id == "template:create" {
		f.Role = pick(c, []string{"worker", "worker", "orchestrator", "orchestrator", "reviewer", ""})
	}
	if c.chance(80) {
		f.Name = ptr(pick(c, []string{"Mine", "Ours", "Prüfen ✓", " ", strings.Repeat("n", 201)}))
	}
	if c.chance(80) {
		f.Content = ptr(pick(c, []string{"Do it.", "Work,\nthen report <&>.", "Later, perhaps.", "", strings.Repeat("c", events.MaxText), strings.Repeat("c", events.MaxText+1)}))
	}
}

// ofTemplates makes, changes and deletes templates, and asks for what is deleted.
func (c composer) ofTemplates() wish {
	var made, deleted []string
	for _, id := range c.m.templateIDs {
		switch {
		case c.m.templates[id].deleted:
			deleted = append(deleted, id)
		case !contains(ownTemplates, id):
			made = append(made, id)
		}
	}
	if len(made) == 0 || c.chance(15) {
		return wish{by: admin, id: "template:create", fields: fields{
			Name: ptr("Mine"), Content: ptr("Do it."), Role: pick(c, []string{"worker", "orchestrator"}),
		}}
	}
	w := c.wish(admin, pick(c, []string{
		"template:update", "template:update", "template:reset", "template:delete", "template:delete",
	}))
	switch {
	case len(deleted) > 0 && c.chance(30):
		w.fields.TemplateID = pick(c, deleted)
	case c.chance(60):
		w.fields.TemplateID = pick(c, made)
	}
	return w
}

func (c composer) template() string {
	switch {
	case c.chance(40) && len(c.m.templateIDs) > 0:
		return pick(c, c.m.templateIDs)
	case c.chance(75):
		return pick(c, ownTemplates[:3]) // few, so that what changed one is met again
	}
	return pick(c, []string{"", "a b", "tmpl_unknown"})
}
