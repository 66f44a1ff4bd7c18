package projections

import (
	"testing"

	"maestro/events"
)

func TestTemplate(t *testing.T) {
	of := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	made := of(&events.TemplateCreated{
		TemplateID: "x",
		Name:       "Mine",
		Role:       events.RoleOrchestrator,
		Content:    "do",
	})
	for _, c := range []struct {
		name  string
		id    string
		story []given
		want  Template
	}{
		{"created", "x", []given{made}, Template{
			Name:      "Mine",
			Role:      events.RoleOrchestrator,
			Content:   "do",
			Version:   1,
			CreatedAt: at(1),
			UpdatedAt: at(1),
			CreatedBy: admin,
		}},
		{
			"a new name is no new version", "x",
			[]given{made, of(&events.TemplateUpdated{TemplateID: "x", Name: new("Ours")})},
			Template{
				Name:      "Ours",
				Role:      events.RoleOrchestrator,
				Content:   "do",
				Version:   1,
				CreatedAt: at(1),
				UpdatedAt: at(2),
				CreatedBy: admin,
			},
		},
		{
			"a new content is one", "x",
			[]given{
				made, of(&events.TemplateUpdated{TemplateID: "x", Content: new("do it")}),
				of(&events.TemplateUpdated{TemplateID: "x", Content: new("done")}),
			},
			Template{
				Name:      "Mine",
				Role:      events.RoleOrchestrator,
				Content:   "done",
				Version:   3,
				CreatedAt: at(1),
				UpdatedAt: at(3),
				CreatedBy: admin,
			},
		},
		{
			"reset", "x",
			[]given{made, of(&events.TemplateReset{TemplateID: "x"})},
			Template{
				Name:      "Mine",
				Role:      events.RoleOrchestrator,
				Version:   2,
				CreatedAt: at(1),
				UpdatedAt: at(2),
				CreatedBy: admin,
			},
		},
		{
			"one of Maestro's own is changed", "execute-tree",
			[]given{made, of(&events.TemplateUpdated{TemplateID: "execute-tree", Content: new("climb")})},
			Template{
				Content:   "climb",
				Version:   1,
				CreatedAt: at(2),
				UpdatedAt: at(2),
			},
		},
		{
			"and reset, which is another version", "execute-tree",
			[]given{
				of(&events.TemplateUpdated{TemplateID: "execute-tree", Name: new("T"), Content: new("climb")}),
				of(&events.TemplateReset{TemplateID: "execute-tree"}),
			},
			Template{
				Name:      "T",
				Version:   2,
				CreatedAt: at(1),
				UpdatedAt: at(2),
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.ID = c.id
			if got := stateOf(t, c.story...).Template(c.id); got == nil || *got != c.want {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	of := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	s := stateOf(
		t,
		project(),
		of(&events.TemplateCreated{
			TemplateID: "b",
			Name:       "B",
			Role:       events.RoleWorker,
			Content:    "b",
		}),
		of(&events.TemplateCreated{
			TemplateID: "gone",
			Name:       "G",
			Role:       events.RoleWorker,
			Content:    "g",
		}),
		of(&events.TemplateUpdated{TemplateID: "execute-queue", Content: new("q")}),
		of(&events.TemplateCreated{
			TemplateID: "a",
			Name:       "A",
			Role:       events.RoleWorker,
			Content:    "a",
		}),
		of(&events.TemplateDeleted{TemplateID: "gone"}),
		of(&events.TemplateReset{TemplateID: "b"}),
	)
	equalLists(t, "in the order of the first event", idsOf(s.Templates(), func(t *Template) string { return t.ID }),
		"b", "execute-queue", "a")
	if s.Template("gone") != nil || !s.TemplateEver("gone") || s.TemplateEver("execute-tree") {
		t.Error("a deleted template is shown or forgotten, or an unchanged one is there")
	}
	for data, says := range map[events.Data]string{
		&events.TemplateCreated{TemplateID: "a"}:    `creates the template "a", which exists`,
		&events.TemplateCreated{TemplateID: "gone"}: `creates the template "gone"`,
		&events.TemplateUpdated{TemplateID: "gone"}: `template "gone", which does not exist`,
		&events.TemplateReset{TemplateID: "gone"}:   `template "gone"`,
		&events.TemplateDeleted{TemplateID: "gone"}: `template "gone"`,
	} {
		refused(t, s, of(data).event, says)
	}
	for range s.Templates() {
		break // the caller may stop early
	}
}
