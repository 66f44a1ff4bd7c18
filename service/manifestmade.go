package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/workers/manifest"
)

// generateManifest makes the manifest of a session from what the server knows; a dry run stores none.
func (s *Service) generateManifest(ctx context.Context, c *Caller, x *commands.SpawnSession, dryRun bool) error {
	from := sourceFor(x)
	if left := s.ownAtMost(c, x.Role, x.Strategy); left != nil && x.Allowed == nil {
		from.AllowedCommands = left // as the decision cuts it
	}
	known := true
	var long []longText
	steps := s.Handler.Measure(func(state *projections.State) {
		if known = sourceOf(state, &from, cmpOr(x.Project, c.By.Project), x.TaskIDs, &long); known {
			from.Custom = custom(state, unique(x.TaskIDs), x.Context)
		}
	})
	c.worked(steps)
	if !known {
		return nil
	}
	if err := s.KnownTemplate(x.TemplateID); err != nil && !s.decided(c, x) {
		return err
	}
	m, err := s.render(ctx, c, &from, long)
	var invalid *manifest.InvalidError
	switch {
	case errors.As(err, &invalid) && s.decided(c, x):
		return nil // what the decision refuses too, it says in the words that clients know
	case err != nil:
		return invalidManifest(err)
	}
	canonical := m.Canonical()
	c.worked(len(canonical) / bytesPerStep)
	x.Generated = manifest.Digest(canonical)
	if dryRun {
		return nil
	}
	if err := s.upload(ctx, c, len(canonical)); err != nil {
		return err
	}
	if _, err := s.Blobs.PutBlob(ctx, canonical); err != nil {
		return &engine.UnavailableError{
			Why:  "the manifest could not be stored",
			Next: "try again with the same key",
			Err:  err,
		}
	}
	return nil
}

// bytesPerStep is how many bytes of a manifest that is read or written count as one step. The writer does neither.
const bytesPerStep = 160

// sourceFor takes over what a spawn says of its manifest.
func sourceFor(x *commands.SpawnSession) manifest.Source {
	return manifest.Source{
		Role:             x.Role,
		Strategy:         x.Strategy,
		Skills:           x.Skills,
		Model:            x.Model,
		PermissionMode:   manifest.PermissionMode(x.PermissionMode),
		ThinkingMode:     x.ThinkingMode,
		MaxTurns:         x.MaxTurns,
		Timeout:          x.Timeout,
		WorkingDirectory: x.WorkingDirectory,
		Agent:            x.Agent,
		AllowedCommands:  x.Allowed,
		TemplateID:       x.TemplateID,
	}
}

// mostBelow is how many tasks below its own are looked up for a session; its manifest tells of no more.
const mostBelow = 100

// sourceOf gathers what a manifest tells of tasks, and which of its texts are elsewhere; false when a task is not
// there.
func sourceOf(
	state *projections.State, from *manifest.Source, project string, ids []string, long *[]longText,
) bool {
	p := state.Project(project)
	if p == nil {
		return false
	}
	if from.WorkingDirectory == "" {
		from.WorkingDirectory = p.WorkingDir
	}
	tasks := unique(ids)
	told := make(map[string]bool, len(tasks)) // those of the session, and those around them
	for _, id := range tasks {
		told[id] = true
	}
	add := func(t *projections.Task) {
		if t != nil && !told[t.ID] {
			told[t.ID] = true
			from.Around = append(from.Around, taskSource(state, t))
		}
	}
	for _, id := range tasks {
		t := state.Task(id)
		if t == nil {
			return false
		}
		for _, field := range []string{"description", "initialPrompt"} {
			if field == "initialPrompt" && len(from.Tasks) > 0 {
				break // only that of the primary task is told
			}
			if digest := t.Blobs[field]; digest != "" {
				*long = append(*long, longText{len(from.Tasks), field, digest})
			}
		}
		from.Tasks = append(from.Tasks, taskSource(state, t))
		for _, dependency := range t.Dependencies {
			add(state.Task(dependency))
		}
		add(state.Task(t.ParentID))
		for child := range state.Children(id) {
			add(child)
		}
		for _, dependent := range state.Dependents(id) {
			add(dependent)
		}
	}
	below := 0
	for _, id := range tasks {
		for child := range state.Children(id) {
			if below == mostBelow {
				break
			}
			if !told[child.ID] {
				below++
				add(child)
			}
		}
	}
	return true
}

// unique gives ids once each, as the decision does; never nil.
func unique(ids []string) []string {
	once, seen := make([]string, 0, len(ids)), make(map[string]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}

func taskSource(state *projections.State, t *projections.Task) manifest.TaskSource {
	return manifest.TaskSource{
		ID:                 t.ID,
		Title:              t.Title,
		Description:        t.Description,
		ParentID:           t.ParentID,
		AcceptanceCriteria: t.AcceptanceCriteria,
		Dependencies:       t.Dependencies,
		Priority:           t.Priority,
		ProjectID:          t.ProjectID,
		CreatedAt:          t.CreatedAt,
		Metadata:           t.Metadata,
		Status:             t.Status,
		Result:             resultOf(state, t),
		InitialPrompt:      t.InitialPrompt,
	}
}

// resultOf gives what was said when a task was last said to be completed.
func resultOf(state *projections.State, t *projections.Task) string {
	if result := state.Result(t); result != nil {
		return result.Text
	}
	return ""
}

// predecessorEntries is how much of its predecessor's story a session is told.
const predecessorEntries = 20

// custom gives a manifest's free context: what the caller gave, the tasks, which existing clients look for, and for a
// successor what its predecessor on the primary task did last.
func custom(state *projections.State, tasks []string, context json.RawMessage) json.RawMessage {
	fields := map[string]any{"taskIds": tasks}
	if len(context) > 0 {
		var given map[string]any
		decoder := json.NewDecoder(bytes.NewReader(context))
		decoder.UseNumber()
		if decoder.Decode(&given) == nil {
			for name, value := range given {
				fields[name] = value
			}
		}
	}
	if len(tasks) > 0 {
		if before := predecessor(state, tasks[0]); before != nil {
			fields["predecessor"] = before
		}
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return encoded
}

// predecessorStory is what a session is told of the one before it on its primary task.
type predecessorStory struct {
	SessionID string   `json:"sessionId"`
	Name      string   `json:"name"`
	Status    string   `json:"status"`
	EndReason string   `json:"endReason,omitempty"`
	Last      []string `json:"last"`
}

func predecessor(state *projections.State, task string) *predecessorStory {
	t := state.Task(task)
	if t == nil {
		return nil
	}
	for _, id := range slices.Backward(t.SessionIDs) {
		x := state.SessionEver(id)
		if x == nil || state.Gone(id) == "" && x.Active() {
			continue
		}
		story := &predecessorStory{
			SessionID: x.ID,
			Name:      x.Name,
			Status:    string(x.Status),
			EndReason: x.EndReason,
			Last:      []string{},
		}
		said := func(e *projections.Entry) bool { return e.Text() != "" && !e.Bare }
		for _, e := range state.SessionTimeline(id).Views(predecessorEntries, said) {
			story.Last = append(story.Last, e.Type+": "+e.Message)
		}
		return story
	}
	return nil
}

// placeManifest puts a copy of a session's manifest, when it has got one, where the sessions of this machine look. It
// is the one that counts now: a retry answers an event that others may have followed. Without it a session fetches
// its own from the server.
func (s *Service) placeManifest(ctx context.Context, data events.Data) {
	session := ""
	switch d := data.(type) {
	case *events.SessionSpawned:
		session = d.SessionID
	case *events.SessionRegistered:
		if d.Created != nil {
			session = d.SessionID
		}
	case *events.SessionUpdated:
		if d.ManifestDigest != nil {
			session = d.SessionID
		}
	}
	if s.Manifests == nil || session == "" {
		return
	}
	s.placing <- struct{}{} // what is looked up later is put there later
	defer func() { <-s.placing }()
	digest := ""
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			digest = x.ManifestDigest
		}
	})
	if digest == "" {
		return
	}
	content, err := s.readBlob(ctx, digest)
	if err == nil {
		err = s.Manifests.Place(session, content)
	}
	if err != nil {
		s.Logger.Warn("a manifest could not be put in place", "session", session, "why", err)
	}
}
