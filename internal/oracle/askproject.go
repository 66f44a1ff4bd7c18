package oracle

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// mostName is the length of a name, in characters.
const mostName = 200

func (a *asked) name(name *string) {
	if name != nil && utf8.RuneCountInString(*name) > mostName {
		a.refuse(codeInvalid)
	}
}

// liveProject refuses a command in a project that there is not.
func (a *asked) liveProject(id string) bool {
	p := a.projects[id]
	switch {
	case id == "":
		a.refuse(codeInvalid)
	case p == nil || p.deleted:
		a.refuse(codeFound)
	}
	return !a.refused()
}

func (a *asked) createProject() fact {
	if a.f.Name == nil {
		return a.no(codeInvalid)
	}
	a.name(a.f.Name)
	a.event.Project = a.fresh
	return &projectCreated{ProjectID: a.fresh, Name: strings.TrimSpace(*a.f.Name)}
}

func (a *asked) updateProject() fact {
	if !a.liveProject(a.f.ProjectID) {
		return nil
	}
	a.name(a.f.Name)
	return &projectUpdated{ProjectID: a.f.ProjectID, Name: a.f.Name}
}

func (a *asked) deleteProject() fact {
	if !a.liveProject(a.f.ProjectID) {
		return nil
	}
	return &projectDeleted{ProjectID: a.f.ProjectID}
}

// template refuses a command on a template that there is not.
func (a *asked) template() *template {
	id := a.f.TemplateID
	t := a.templates[id]
	switch {
	case !isID(id):
		a.refuse(codeInvalid)
	case slices.Contains(ownTemplates, id) && t == nil:
		return &template{}
	case t == nil || t.deleted:
		a.refuse(codeFound)
	}
	return t
}

// texts refuses texts of a template that are too long.
func (a *asked) texts() {
	a.name(a.f.Name)
	if a.f.Content != nil && len(*a.f.Content) > maxStored {
		a.refuse(codeInvalid)
	}
}

func (a *asked) createTemplate() fact {
	if a.f.Name == nil || a.f.Content == nil {
		return a.no(codeInvalid)
	}
	a.texts()
	return &templateCreated{TemplateID: a.fresh, Name: *a.f.Name, Role: a.f.Role, Content: *a.f.Content}
}

func (a *asked) updateTemplate() fact {
	a.template()
	a.texts()
	return &templateUpdated{TemplateID: a.f.TemplateID, Name: a.f.Name, Content: a.f.Content}
}

func (a *asked) resetTemplate() fact {
	if t := a.template(); !a.refused() && t.content == "" {
		return a.so()
	}
	return &templateReset{TemplateID: a.f.TemplateID}
}

func (a *asked) deleteTemplate() fact {
	a.template()
	return &templateDeleted{TemplateID: a.f.TemplateID}
}
