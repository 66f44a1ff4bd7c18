package supervisor

import (
	"context"
	"fmt"
	"strings"

	"maestro/api/client"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

// Prompts are the prompts of a session's agent.
type Prompts struct{ System, Task string }

// stored is the workflow of a session's prompts, as the server has it.
type stored struct{ id, text string }

// Template implements prompt.Templates.
func (t stored) Template(id string) (string, bool) { return t.text, id == t.id }

// RenderPrompts renders the prompts of a session from its manifest (docs/spec/002-prompt-contract.md, "Canonical System
// Prompt Shape"). c acts as the session. workspace is the session's own directory, "" if it is not known;
// changes are what was found in the working directory.
func RenderPrompts(
	ctx context.Context, c *client.Client, m *manifest.Manifest, id, project, workspace string, changes []prompt.Change,
) (Prompts, error) {
	me, err := c.Whoami(ctx)
	if err != nil {
		return Prompts{}, err
	}
	workflow, err := c.SessionWorkflow(ctx, id)
	if err != nil {
		return Prompts{}, err
	}
	about := prompt.Session{
		ID:        id,
		Name:      me.Name,
		ProjectID: project,
		Queue:     me.Queue,
		SpawnedBy: me.SpawnedBy,
		Workspace: workspace,
		Changes:   changes,
	}
	if me.Project != "" {
		about.ProjectID = me.Project
	}
	for _, word := range workflow.Words {
		about.Before = append(about.Before, manifest.Word{
			Kind:    word.Kind,
			Told:    word.IsTold(),
			TaskIDs: word.TaskIDs,
			From:    word.From,
			InputID: word.InputID,
			Text:    word.Text,
			Cut:     word.Cut,
			Late:    word.Late,
		})
	}
	renderer := prompt.Renderer{Templates: stored{workflow.ID, workflow.Content}}
	system, err := renderer.System(m, about)
	if err != nil {
		return Prompts{}, fmt.Errorf("the system prompt: %w", err)
	}
	task, err := renderer.Task(m, about)
	if err != nil {
		return Prompts{}, fmt.Errorf("the task prompt: %w", err)
	}
	return Prompts{string(system), string(task)}, nil
}

// continued is the prompt of an agent that goes on in its own conversation.
func continued(mail string) string {
	var text strings.Builder
	text.WriteString("You continue where you stopped. Your session and its tasks are the same. " +
		"Look at what is done already before you go on.\n")
	if mail != "" {
		text.WriteString("\n" + mail)
	}
	return text.String()
}

// reminder is the prompt of an agent that stopped without saying that its work is done.
func reminder() string {
	return "You stopped, but your session is not complete. If the work is done, report that with " +
		"`maestro report complete \"<what you did>\"`. If you cannot go on, say why with `maestro report blocked " +
		"\"<reason>\"`, or ask with `maestro report needs-input \"<question>\"`. Otherwise continue with the work.\n"
}
