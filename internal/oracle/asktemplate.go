package oracle

import (
	"slices"
)

// template refuses a command on a template that does not exist.
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

// texts refuses template texts that are too long.
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
	return &templateCreated{
		TemplateID: a.fresh,
		Name:       *a.f.Name,
		Role:       a.f.Role,
		Content:    *a.f.Content,
	}
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
