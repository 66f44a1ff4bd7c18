package oracle

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// options are those of a session's agent that bound what its children's agents get.
type options struct {
	PermissionMode   string `json:"permissionMode,omitempty"`
	Network          string `json:"network,omitempty"`
	WorkingDirectory string `json:"workingDirectory,omitempty"`
}

// seventhOn reports whether version 7 of the rules or a later one decided the event.
func (c *trial) seventhOn() bool { return c.sixthOn() && c.event.Rules != "6" }

// directory is where an agent with the options works in a project, "" in its own workspace.
func (c *trial) directory(project string, o options) string {
	dir := o.WorkingDirectory
	if p := c.projects[project]; dir == "" && p != nil {
		dir = p.workingDir
	}
	return dir
}

// bounded judges that a session gives another at most its own options, which the rules require since version 7
// (docs/contract.md, "Permissions").
func (c *trial) bounded(project string, child *options) {
	parent := c.sessions[c.by.id]
	if c.by.kind != bySession || parent == nil || !c.seventhOn() {
		return
	}
	var has options
	if child != nil {
		has = *child
	}
	freedoms := []string{"readOnly", "interactive", "acceptEdits"}
	freedom := func(o options) int { return slices.Index(freedoms, cmp.Or(o.PermissionMode, "acceptEdits")) }
	if freedom(has) > freedom(parent.options) {
		c.fault(rulePermissions, "session %s gives its child the permission mode %q, and has %q", parent.id,
			has.PermissionMode, parent.options.PermissionMode)
	}
	if own := parent.options.Network; own != "" && own != "open" && has.Network != "none" {
		for _, port := range strings.Split(has.Network, ",") {
			if !slices.Contains(strings.Split(own, ","), port) {
				c.fault(rulePermissions, "session %s gives its child the network %q, and has %q", parent.id,
					has.Network, own)
			}
		}
	}
	dir, own := c.directory(project, has), c.directory(parent.project, parent.options)
	above := strings.TrimRight(path.Clean(own), "/") + "/"
	inside := own != "" && strings.HasPrefix(path.Clean(dir)+"/", above)
	if dir != "" && !inside {
		c.fault(rulePermissions, "session %s gives its child the directory %q, and has %q", parent.id, dir, own)
	}
}

// agentOptions are those that a spawn asks for; where it says nothing, those of the session that spawns it.
func (a *asked) agentOptions(project string) *options {
	o := options{a.f.PermissionMode, a.f.Network, a.f.WorkingDirectory}
	if own := a.sessions[a.by.id]; a.by.kind == bySession && own != nil && own.options != (options{}) &&
		a.f.Manifest == nil {
		o.PermissionMode = cmp.Or(o.PermissionMode, own.options.PermissionMode)
		o.Network = cmp.Or(o.Network, own.options.Network)
		if project == own.project {
			o.WorkingDirectory = cmp.Or(o.WorkingDirectory, own.options.WorkingDirectory)
		}
	}
	if o == (options{}) {
		return nil
	}
	return &o
}
