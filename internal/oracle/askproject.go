package oracle

import (
	"strings"
	"unicode/utf8"
)

// mostName is the maximum length of a name, in characters.
const mostName = 200

func (a *asked) name(name *string) {
	if name != nil && utf8.RuneCountInString(*name) > mostName {
		a.refuse(codeInvalid)
	}
}

// liveProject refuses a command in a project that does not exist.
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
	f := &projectCreated{ProjectID: a.fresh, Name: strings.TrimSpace(*a.f.Name)}
	if a.f.WorkingDir != nil {
		f.WorkingDir = *a.f.WorkingDir
	}
	return f
}

func (a *asked) updateProject() fact {
	if !a.liveProject(a.f.ProjectID) {
		return nil
	}
	a.name(a.f.Name)
	return &projectUpdated{ProjectID: a.f.ProjectID, Name: a.f.Name, WorkingDir: a.f.WorkingDir}
}

func (a *asked) deleteProject() fact {
	if !a.liveProject(a.f.ProjectID) {
		return nil
	}
	if a.by.kind == bySession && a.projects[a.f.ProjectID].creator != a.by.id {
		return a.no(codeAllowed)
	}
	return &projectDeleted{ProjectID: a.f.ProjectID}
}
