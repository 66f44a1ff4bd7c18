package simulation

import (
	"strings"

	"maestro/events"
)

// ownTemplates are some of the built-in templates: few, so that several commands affect the same one.
var ownTemplates = []string{"execute-simple", "execute-queue", "execute-tree"}

// templateCommands are the commands about templates, as often as they are drawn.
var templateCommands = []string{
	"template:create", "template:update", "template:update", "template:reset", "template:delete",
}

func (c composer) fillTemplate(f *fields, id string) {
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
		f.Content = ptr(
			pick(
				c,
				[]string{
					"Do it.",
					"Work,\nthen report <&>.",
					"Later, perhaps.",
					"",
					strings.Repeat("c", events.MaxText),
					strings.Repeat("c", events.MaxText+1),
				},
			),
		)
	}
}

// drawTemplateWish draws commands that create, change and delete templates, including deleted ones.
func (c composer) drawTemplateWish() wish {
	var made, deleted []string
	for _, id := range c.m.templateIDs {
		switch {
		case c.m.templates[id].Deleted:
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
		return pick(c, ownTemplates)
	}
	return pick(c, []string{"", "a b", "tmpl_unknown"})
}
