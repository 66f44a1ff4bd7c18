package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/workers/manifest"
)

const (
	manifestsPath = "/api/manifests"
	// maxManifest is the longest manifest that is taken.
	maxManifest = 16 << 20
)

func (s *server) manifestRoutes() {
	s.mux.HandleFunc("GET /api/manifests/schema", s.manifestSchema)
	s.mux.HandleFunc("GET /api/sessions/{id}/manifest", s.sessionManifest)
}

// storedManifest answers an upload.
type storedManifest struct {
	Digest   string          `json:"digest"`
	Role     events.Role     `json:"role"`
	Strategy events.Strategy `json:"strategy"`
	TaskIDs  []string        `json:"taskIds"`
	Commands []string        `json:"allowedCommands"`
}

// storeManifest is POST /api/manifests: it checks a manifest that was written by hand and keeps it, for a spawn to name.
func (s *server) storeManifest(w http.ResponseWriter, r *http.Request, c *call) {
	if err := s.permit(c, "manifest:generate", ""); err != nil {
		s.fail(w, r, err)
		return
	}
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		s.fail(w, r, notJSON(contentType))
		return
	}
	document, err := io.ReadAll(io.LimitReader(r.Body, maxManifest+1))
	if err != nil || len(document) > maxManifest {
		s.fail(w, r, &problem{
			status: http.StatusRequestEntityTooLarge, Code: "TOO_LARGE", Message: "A manifest has at most 16 MiB", Why: "this is longer, or it was cut on its way",
			Next: "say less",
		})
		return
	}
	m, err := manifest.Parse(document)
	if err != nil {
		s.fail(w, r, invalidManifest(err))
		return
	}
	if err := s.ofOwnProject(c, m); err != nil {
		s.fail(w, r, err)
		return
	}
	if s.Blobs == nil {
		s.fail(w, r, notFound("Blob", "store of this server"))
		return
	}
	digest, err := s.Blobs.PutBlob(r.Context(), m.Canonical())
	if err != nil {
		s.fail(w, r, &commands.UnavailableError{Why: "the manifest could not be stored", Next: "try again", Err: err})
		return
	}
	axes := m.Axes()
	s.show(w, r, storedManifest{digest, m.Role, axes.Strategy, m.TaskIDs(), axes.Commands})
}

// invalidManifest is the answer to a manifest that is none, with every fault.
func invalidManifest(err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return &problem{
		status: http.StatusUnprocessableEntity, StatusCode: http.StatusUnprocessableEntity, Code: "INVALID_MANIFEST", Message: invalid.Error(),
		Why: "each fault is in details.errors, with its place", Next: "see GET /api/manifests/schema, or `maestro manifest schema`", Details: invalid,
	}
}

// ofOwnProject lets a session name only what is of its own project: who names a manifest may read it.
func (s *server) ofOwnProject(c *call, m *manifest.Manifest) error {
	if c.by.Kind != commands.ActorSession {
		return nil
	}
	for _, t := range m.Tasks {
		if t.ProjectID != c.by.Project {
			return &commands.Refusal{
				Code: commands.CodeNotAllowed, Rule: "session:spawn", Message: "The manifest speaks of project '" + printable(t.ProjectID) + "'",
				Why: "a session works in its own project only", Next: "leave task " + printable(t.ID) + " out",
			}
		}
	}
	return nil
}

func (s *server) manifestSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	s.write(w, manifest.Schema())
}

// sessionManifest gives the manifest that a session was given.
func (s *server) sessionManifest(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	id := r.PathValue("id")
	var digest string
	var err error
	s.Handler.View(func(state *projections.State) {
		v := view{state, s, c}
		var x *projections.Session
		if c.by.Kind == commands.ActorSession && id == c.by.Name {
			x, err = v.session("whoami", id) // its own, whatever its list says
		} else {
			x, err = v.session("session:info", id)
		}
		if err == nil {
			digest = x.ManifestDigest
		}
	})
	if err == nil && digest == "" {
		err = notFound("Manifest of session", id)
	}
	var content []byte
	if err == nil {
		content, err = s.blobOf(r.Context(), digest)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header.Set("Maestro-Digest", digest)
	header["Maestro-Sequence"] = []string{sequenceText(s.head())}
	s.write(w, content)
}

func (s *server) blobOf(ctx context.Context, digest string) ([]byte, error) {
	if s.Blobs == nil {
		return nil, notFound("Blob", digest)
	}
	content, err := s.Blobs.Blob(ctx, digest)
	if err != nil {
		s.Logger.Warn("a blob could not be read", "digest", digest, "why", err)
		return nil, notFound("Blob", digest)
	}
	return content, nil
}

// withManifest gives a command that makes a session its manifest: the one that it names, held against what else it says, or
// one that is generated. What cannot be decided without it is left to the decision.
func (s *server) withManifest(ctx context.Context, c *call, command commands.Command, dryRun bool) error {
	switch x := command.(type) {
	case *commands.SpawnSession:
		if s.Blobs == nil || s.permit(c, "session:spawn", cmpOr(x.Project, c.by.Project)) != nil {
			return nil
		}
		if x.ManifestDigest != "" {
			return s.takeManifest(ctx, c, x)
		}
		return s.generateManifest(ctx, c, x, dryRun)
	case *commands.RegisterSession:
		if x.ManifestDigest == "" || c.by.Kind != commands.ActorUser {
			return nil
		}
		return s.registerWith(ctx, c, x)
	case *commands.UpdateSession:
		if x.ManifestDigest == nil || s.permit(c, "session:update", "") != nil {
			return nil
		}
		return s.issueAgain(ctx, c, x)
	}
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// named gives the manifest that a digest names.
func (s *server) named(ctx context.Context, c *call, digest string) (*manifest.Manifest, error) {
	if !isDigest(digest) {
		return nil, invalid("/manifestDigest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", printable(digest))
	}
	content, err := s.blobOf(ctx, digest)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(content)
	if err != nil {
		return nil, invalidManifest(err)
	}
	return m, s.ofOwnProject(c, m)
}

// takeManifest fills in what the manifest says; what the command says too must be the same.
func (s *server) takeManifest(ctx context.Context, c *call, x *commands.SpawnSession) error {
	m, err := s.named(ctx, c, x.ManifestDigest)
	if err != nil {
		return err
	}
	for _, field := range []struct {
		pointer      string
		says, should string
		into         func(string)
	}{
		{"/role", string(x.Role), string(m.Role), func(v string) { x.Role = events.Role(v) }},
		{"/strategy", string(x.Strategy), string(m.Axes().Strategy), func(v string) { x.Strategy = events.Strategy(v) }},
		{"/model", x.Model, m.Session.Model, func(v string) { x.Model = v }},
		{"/agent", x.Agent, m.Session.Agent, func(v string) { x.Agent = v }},
	} {
		if field.says != "" && field.says != field.should {
			return otherThanManifest(field.pointer, field.should)
		}
		field.into(field.should)
	}
	if x.TaskIDs != nil && !slices.Equal(x.TaskIDs, m.TaskIDs()) {
		return otherThanManifest("/taskIds", "the tasks of the manifest")
	}
	x.TaskIDs = m.TaskIDs()
	if x.Allowed != nil && (m.Session.AllowedCommands == nil || !slices.Equal(*x.Allowed, *m.Session.AllowedCommands)) {
		return otherThanManifest("/allowedCommands", "those of the manifest")
	}
	x.Allowed, x.Skills, x.Timeout = m.Session.AllowedCommands, m.Skills, m.Session.Timeout
	return nil
}

func otherThanManifest(pointer, should string) error {
	return invalid(pointer, "the manifest says otherwise: %s", printable(should))
}

// registerWith is takeManifest for a session that nobody spawned.
func (s *server) registerWith(ctx context.Context, c *call, x *commands.RegisterSession) error {
	m, err := s.named(ctx, c, x.ManifestDigest)
	if err != nil {
		return err
	}
	x.Create, x.Role, x.Strategy, x.TaskIDs, x.Allowed = true, m.Role, m.Axes().Strategy, m.TaskIDs(), m.Session.AllowedCommands
	if x.Project == "" && len(m.Tasks) > 0 {
		x.Project = m.Tasks[0].ProjectID
	}
	return nil
}

// issueAgain holds a manifest that is issued again against the rights that the session was given: those are frozen.
func (s *server) issueAgain(ctx context.Context, c *call, x *commands.UpdateSession) error {
	m, err := s.named(ctx, c, *x.ManifestDigest)
	if err != nil {
		return err
	}
	axes := m.Axes()
	s.Handler.View(func(state *projections.State) {
		session := state.Session(x.SessionID)
		if session == nil || session.Permissions == nil {
			return // the decision says so
		}
		may := slices.Clone(session.Permissions.Commands)
		slices.Sort(may)
		wants := slices.Clone(axes.Commands)
		slices.Sort(wants)
		if m.Role != session.Role || axes.Strategy != session.Strategy || !slices.Equal(may, wants) {
			err = &commands.Refusal{
				Code: commands.CodeConflict, Message: "The manifest gives other rights than session '" + session.ID + "' has",
				Why: "role, strategy and allowed commands are frozen when a session is made", Next: "spawn another session with it",
			}
		}
	})
	return err
}

// generateManifest makes the manifest of a session from what the server knows; a dry run stores none.
func (s *server) generateManifest(ctx context.Context, c *call, x *commands.SpawnSession, dryRun bool) error {
	from := manifest.Source{
		Role: x.Role, Strategy: x.Strategy, Skills: x.Skills, Model: x.Model, PermissionMode: manifest.PermissionMode(x.PermissionMode),
		ThinkingMode: x.ThinkingMode, MaxTurns: x.MaxTurns, Timeout: x.Timeout, WorkingDirectory: x.WorkingDirectory, Agent: x.Agent,
		AllowedCommands: x.Allowed, TemplateID: x.TemplateID,
	}
	known := true
	s.Handler.View(func(state *projections.State) { known = sourceOf(state, &from, cmpOr(x.Project, c.by.Project), x) })
	if !known {
		return nil
	}
	m, err := manifest.Generate(from)
	if err != nil {
		// What the decision refuses too, it says in the words that clients know.
		if _, refused := s.Handler.Try(commands.Request{By: c.by, Command: x, Key: "generate"}); refused != nil {
			return nil
		}
		return invalidManifest(err)
	}
	x.Generated = manifest.Digest(m.Canonical())
	if dryRun {
		return nil
	}
	if _, err := s.Blobs.PutBlob(ctx, m.Canonical()); err != nil {
		return &commands.UnavailableError{Why: "the manifest could not be stored", Next: "try again with the same key", Err: err}
	}
	return nil
}

// sourceOf gathers what a manifest tells of tasks; false when one is not there.
func sourceOf(state *projections.State, from *manifest.Source, project string, x *commands.SpawnSession) bool {
	p := state.Project(project)
	if p == nil {
		return false
	}
	if from.WorkingDirectory == "" {
		from.WorkingDirectory = p.WorkingDir
	}
	around := map[string]bool{}
	add := func(t *projections.Task) {
		if t != nil && !around[t.ID] && !slices.Contains(x.TaskIDs, t.ID) {
			around[t.ID] = true
			from.Around = append(from.Around, taskSource(state, t))
		}
	}
	for _, id := range x.TaskIDs {
		t := state.Task(id)
		if t == nil {
			return false
		}
		from.Tasks = append(from.Tasks, taskSource(state, t))
		for _, dependency := range t.Dependencies {
			add(state.Task(dependency))
		}
		add(state.Task(t.ParentID))
		for _, dependent := range state.Dependents(id) {
			add(dependent)
		}
	}
	from.Custom = custom(state, x)
	return true
}

func taskSource(state *projections.State, t *projections.Task) manifest.TaskSource {
	return manifest.TaskSource{
		ID: t.ID, Title: t.Title, Description: t.Description, ParentID: t.ParentID, AcceptanceCriteria: t.AcceptanceCriteria,
		Dependencies: t.Dependencies, Priority: t.Priority, ProjectID: t.ProjectID, CreatedAt: t.CreatedAt, Metadata: t.Metadata,
		Status: t.Status, Result: resultOf(state, t.ID),
	}
}

// resultOf gives what was said when a task was last said to be completed.
func resultOf(state *projections.State, task string) string {
	for _, e := range slices.Backward(state.TaskTimeline(task)) {
		if e.Type == "task_completed" {
			return e.Message
		}
	}
	return ""
}

// predecessorEntries is how much of its predecessor's story a session is told.
const predecessorEntries = 20

// custom gives a manifest's free context: what the caller gave, the tasks, which existing clients look for, and for a successor
// what its predecessor on the primary task did last.
func custom(state *projections.State, x *commands.SpawnSession) json.RawMessage {
	fields := map[string]any{"taskIds": append([]string{}, x.TaskIDs...)}
	if len(x.Context) > 0 {
		var given map[string]any
		decoder := json.NewDecoder(bytes.NewReader(x.Context))
		decoder.UseNumber()
		if decoder.Decode(&given) == nil {
			for name, value := range given {
				fields[name] = value
			}
		}
	}
	if len(x.TaskIDs) > 0 {
		if before := predecessor(state, x.TaskIDs[0]); before != nil {
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
		story := &predecessorStory{SessionID: x.ID, Name: x.Name, Status: string(x.Status), EndReason: x.EndReason, Last: []string{}}
		for _, e := range state.SessionTimeline(id).Views(predecessorEntries, func(e *projections.Entry) bool { return e.Message != "" && !e.Bare }) {
			story.Last = append(story.Last, e.Type+": "+e.Message)
		}
		return story
	}
	return nil
}

// placeManifest puts a copy of a new session's manifest where the sessions of this machine look. Without it a session fetches its
// own from the server.
func (s *server) placeManifest(ctx context.Context, data events.Data) {
	var session, digest string
	switch d := data.(type) {
	case *events.SessionSpawned:
		session, digest = d.SessionID, d.ManifestDigest
	case *events.SessionRegistered:
		if d.Created != nil {
			session, digest = d.SessionID, d.ManifestDigest
		}
	case *events.SessionUpdated:
		if d.ManifestDigest != nil {
			session, digest = d.SessionID, *d.ManifestDigest
		}
	}
	if s.Manifests == nil || digest == "" {
		return
	}
	content, err := s.blobOf(ctx, digest)
	if err == nil {
		err = s.Manifests.Place(session, content)
	}
	if err != nil {
		s.Logger.Warn("a manifest could not be put in place", "session", session, "why", err)
	}
}
