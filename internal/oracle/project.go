package oracle

import "strings"

type project struct {
	// creator is the session that created it; "" for a user.
	creator string
	// by is the source of the event that created it.
	by      string
	deleted bool
	// workingDir is the directory of its code, "" if none is known.
	workingDir string
}

type projectCreated struct {
	ProjectID string `json:"projectId"`
	Name      string `json:"name"`
	// WorkingDir bounds where the sessions of a session work.
	WorkingDir string `json:"workingDir"`
}

func (f *projectCreated) about() (kind, id string) { return "project", f.ProjectID }
func (f *projectCreated) commands() []string       { return []string{"project:create"} }

func (f *projectCreated) judge(c *trial) {
	if c.projects[f.ProjectID] != nil || f.ProjectID == "" {
		c.fault(ruleExists, "project %q already exists", f.ProjectID)
	}
	if strings.TrimSpace(f.Name) == "" {
		c.fault(ruleProject, "the new project has no name")
	}
}

func (f *projectCreated) fold(c *trial) {
	p := &project{by: c.event.Source, workingDir: f.WorkingDir}
	if c.by.kind == bySession {
		p.creator = c.by.id
	}
	c.projects[f.ProjectID] = p
	c.order.projects = append(c.order.projects, f.ProjectID)
}

type projectUpdated struct {
	ProjectID string  `json:"projectId"`
	Name      *string `json:"name"`

	WorkingDir *string `json:"workingDir"`
}

func (f *projectUpdated) about() (kind, id string) { return "project", f.ProjectID }
func (f *projectUpdated) commands() []string       { return []string{"project:update"} }

func (f *projectUpdated) judge(c *trial) {
	c.inProject("project", f.ProjectID, f.ProjectID)
	if f.Name != nil && strings.TrimSpace(*f.Name) == "" {
		c.fault(ruleProject, "the project's new name is blank")
	}
}

func (f *projectUpdated) fold(c *trial) {
	if p := c.projects[f.ProjectID]; p != nil && f.WorkingDir != nil {
		p.workingDir = *f.WorkingDir
	}
}

type projectDeleted struct {
	ProjectID string `json:"projectId"`
}

func (f *projectDeleted) about() (kind, id string) { return "project", f.ProjectID }
func (f *projectDeleted) commands() []string       { return []string{"project:delete"} }

func (f *projectDeleted) judge(c *trial) {
	c.inProject("project", f.ProjectID, f.ProjectID)
	if p := c.projects[f.ProjectID]; p != nil && c.by.kind == bySession && p.creator != c.by.id {
		c.fault(ruleProject, "session %s did not create project %s", c.by.id, f.ProjectID)
	}
	for _, t := range c.tasks {
		if t.project == f.ProjectID && !t.deleted {
			c.fault(ruleProject, "project %s still has tasks", f.ProjectID)
			break
		}
	}
	for _, s := range c.sessions {
		if s.project == f.ProjectID && s.ended != endDeleted {
			c.fault(ruleProject, "project %s still has sessions", f.ProjectID)
			break
		}
	}
}

func (f *projectDeleted) fold(c *trial) {
	if p := c.projects[f.ProjectID]; p != nil {
		p.deleted = true
	}
}
