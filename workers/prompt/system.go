package prompt

import (
	"fmt"
	"strconv"

	"maestro/events"
	"maestro/workers/manifest"
)

// version is the version of the prompts' shape (docs/spec/002-prompt-contract.md, "Canonical System Prompt Shape").
const version = "3.0"

// Session is what a prompt says about a session besides its manifest. Empty fields are omitted.
type Session struct {
	ID, Name               string
	ProjectID, ProjectName string
	// Queue is the queue that it pulls from.
	Queue string
	// SpawnedBy is the orchestrator that spawned it.
	SpawnedBy string
	// Workspace is its own directory.
	Workspace string
	// Before are the newest of its reports and mail, oldest first: an agent that is restarted in it does not know them.
	Before []manifest.Word
	// Changes are what its agent finds in the working directory, if another agent worked there before.
	Changes []Change
}

// Change is what one look at a working directory shows. Cut says that Text is only the beginning.
type Change struct {
	Name, Text string
	Cut        bool
}

// Renderer writes prompts. The zero value uses the built-in workflows.
type Renderer struct {
	// Templates are searched first for the workflow that a manifest names, and for the built-in ones; nil for none.
	Templates Templates
}

// System returns the system prompt of a session: who it is, what it can do, how it works, and the commands that it may
// use. An error says what is wrong with the manifest's axes, or with the template that it names.
func (r Renderer) System(m *manifest.Manifest, s Session) ([]byte, error) {
	a, err := axesOf(m)
	if err != nil {
		return nil, err
	}
	workflow, err := r.workflow(m, a)
	if err != nil {
		return nil, err
	}
	text, _ := builtIn.ReadFile("templates/" + instruction + ".txt")
	standing, err := parseTemplate(string(text), []string{string(manifest.Execute), string(manifest.Coordinate), "all"})
	if err != nil {
		return nil, fmt.Errorf("the instruction: %w", err)
	}
	q := asking(a, m, s)

	var w xmlWriter
	w.start("maestro_system_prompt", head(a)...)
	w.start("identity")
	w.text("profile", "maestro-agent")
	w.lines("instruction", append(q.lines(standing[string(a.Mode)]), q.lines(standing["all"])...))
	w.end()
	w.start("capabilities")
	for _, c := range a.Capabilities.List() {
		w.empty("capability", attr{"name", c.Name}, attr{"enabled", strconv.FormatBool(c.Enabled)})
	}
	w.end()
	w.start("workflow")
	for _, phase := range phases {
		lines := q.lines(workflow[phase])
		for i := range lines {
			lines[i] = fmt.Sprintf("%d. %s", i+1, lines[i])
		}
		w.lines("phase", lines, attr{"name", phase})
	}
	w.end()
	w.start("commands")
	for _, g := range grouped(a.shown()) {
		w.start("group", attr{"name", g.name})
		for _, id := range g.ids {
			u, _ := usageOf(id)
			w.empty("command", attr{"name", id}, attr{"syntax", "maestro " + u.syntax},
				attr{"description", u.describe(a.Commands)})
		}
		w.end()
	}
	w.end()
	w.end()
	return w.b.Bytes(), nil
}

func head(a axes) []attr {
	return []attr{{"mode", string(a.Mode)}, {"strategy", string(a.Strategy)}, {"version", version}}
}

// workflow returns the template that a manifest names, or the one of its mode and strategy.
func (r Renderer) workflow(m *manifest.Manifest, a axes) (template, error) {
	id := m.TemplateID
	if id == "" {
		id = string(a.Mode) + "-" + string(a.Strategy)
	}
	text, ok := "", false
	if r.Templates != nil {
		text, ok = r.Templates.Template(id)
	}
	if !ok {
		text, ok = BuiltIn().Template(id)
	}
	if !ok {
		return nil,
			fmt.Errorf("there is no template %q; leave templateId out for the workflow of mode %s and strategy %s",
				oneLine(id), a.Mode, a.Strategy)
	}
	workflow, err := parseTemplate(text, phases)
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", oneLine(id), err)
	}
	return workflow, nil
}

// asking collects the values of a session that a template may use.
func asking(a axes, m *manifest.Manifest, s Session) asked {
	q := asked{axes: a, values: map[string]string{
		"session": s.ID, "project": projectOf(m, s), "project-name": s.ProjectName, "queue": s.Queue,
	}}
	if len(m.Tasks) > 0 {
		q.values["task"] = m.Tasks[0].ID
	}
	children, _ := related(m)
	custom, _ := customOf(m)
	q.facts = map[string]bool{
		"@tasks": len(m.Tasks) > 0, "@several": len(m.Tasks) > 1, "@children": len(children) > 0,
		"@queue": s.Queue != "", "@skills": len(m.Skills) > 0, "@predecessor": custom.predecessor != nil,
		"@read-only":   m.Session.PermissionMode == manifest.ReadOnly,
		"@interactive": m.Session.PermissionMode == manifest.Interactive,
	}
	return q
}

// projectOf returns a session's project: its own, or that of its tasks.
func projectOf(m *manifest.Manifest, s Session) string {
	if s.ProjectID == "" && len(m.Tasks) > 0 {
		return m.Tasks[0].ProjectID
	}
	return s.ProjectID
}

// permissionModes describe what an agent may do without asking.
var permissionModes = map[manifest.PermissionMode]string{
	manifest.AcceptEdits: "You may change files without asking.",
	manifest.Interactive: "If a step needs permission, the user is asked; without an answer in time, it is denied.",
	manifest.ReadOnly:    "You may look at everything and change nothing: your result is what you report.",
}

// permissionMode describes the manifest's mode. An orchestrator's results are tasks and sessions, which it changes in
// every mode.
func permissionMode(m *manifest.Manifest) string {
	if m.Session.PermissionMode == manifest.ReadOnly && m.Role == events.RoleOrchestrator {
		return "You may read every file and change none. Your results are the tasks, the sessions that you start, " +
			"and what you report."
	}
	return permissionModes[m.Session.PermissionMode]
}
