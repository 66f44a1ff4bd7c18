package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

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
	if err := s.mayStore(c); err != nil {
		s.fail(w, r, err)
		return
	}
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		s.fail(w, r, notJSON(contentType))
		return
	}
	document, err := readManifest(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	m, err := manifest.Parse(document)
	if err != nil {
		s.fail(w, r, invalidManifest(err))
		return
	}
	if err := s.ofOwnProject(c, "manifest:generate", m); err != nil {
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

// mayStore asks the table, and of a user's token that it may write: a row without an event is a read to the table.
func (s *server) mayStore(c *call) error {
	const row = "manifest:generate"
	if err := s.permit(c, row, ""); err != nil {
		return err
	}
	if c.by.Kind == commands.ActorUser && c.by.Access != commands.AccessAdmin {
		return &commands.Refusal{
			Code: commands.CodeNotAllowed, Rule: row, Message: "Command '" + row + "' is not allowed for the " + string(c.by.Access) + " token '" + c.by.Name + "'",
			Why: "a token of kind " + string(c.by.Access) + " writes nothing", Next: "use an admin token",
		}
	}
	return nil
}

// readManifest reads the body of an upload whole.
func readManifest(r *http.Request) ([]byte, error) {
	tooLarge := func() error {
		// Whether the rest arrives changes nothing.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		return &problem{
			status: http.StatusRequestEntityTooLarge, Code: "TOO_LARGE", Message: "The manifest is larger than 16 MiB",
			Why: "a manifest has at most 16 MiB", Next: "say less, or split its tasks among sessions",
		}
	}
	if r.ContentLength > maxManifest {
		return nil, tooLarge()
	}
	document, err := io.ReadAll(io.LimitReader(r.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, &problem{
			status: http.StatusBadRequest, Code: "VALIDATION_ERROR", Message: "The body is cut: it ends before it is complete",
			Why: "the connection brought fewer bytes than announced", Next: "send it again",
		}
	case len(document) > maxManifest:
		return nil, tooLarge()
	}
	return document, nil
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

// ofOwnProject lets a session name only what is of projects that it works in: who names a manifest may read it.
func (s *server) ofOwnProject(c *call, row string, m *manifest.Manifest) error {
	if c.by.Kind != commands.ActorSession {
		return nil
	}
	for _, t := range m.Tasks {
		if err := s.permit(c, row, t.ProjectID); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) manifestSchema(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "application/schema+json")
	header["Maestro-Sequence"] = []string{sequenceText(s.head())}
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
		if x.ManifestDigest == "" || c.by.Kind != commands.ActorUser || s.permit(c, "session:register", x.Project) != nil {
			return nil
		}
		return s.registerWith(ctx, c, x)
	case *commands.UpdateSession:
		if x.ManifestDigest == nil || s.permit(c, "session:update", "") != nil {
			return nil
		}
		if err := s.issueAgain(ctx, c, x); err != nil && !s.decided(c, x) {
			return err
		}
	}
	return nil
}

// decided reports whether the decision refuses a command too, or made it once already under its key: then it says so itself.
func (s *server) decided(c *call, command commands.Command) bool {
	answer, err := s.Handler.Try(commands.Request{By: c.by, Command: command, Key: c.meta.key})
	return err != nil || answer.Retried
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// named gives the manifest that a digest names.
func (s *server) named(ctx context.Context, c *call, row, digest string) (*manifest.Manifest, error) {
	if !isDigest(digest) {
		return nil, invalid("/manifestDigest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", printable(digest))
	}
	content, err := s.blobOf(ctx, digest)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(content)
	if err != nil {
		// Its faults would quote what is none of the caller's business.
		return nil, invalid("/manifestDigest", "'%s' is not the digest of a manifest", digest)
	}
	return m, s.ofOwnProject(c, row, m)
}

// said is what a command says beside its manifest; it must say the same or nothing.
type said struct {
	project  string
	role     events.Role
	strategy events.Strategy
	tasks    []string
	allowed  *[]string
}

// agree holds what a command says of a session against its manifest.
func (x said) agree(m *manifest.Manifest) error {
	if x.role != "" && x.role != m.Role {
		return otherThanManifest("/role", string(m.Role))
	}
	strategy := m.Axes().Strategy
	if meant, err := commands.ResolveStrategy(m.Role, x.strategy); x.strategy != "" && (err != nil || meant != strategy) {
		return otherThanManifest("/strategy", string(strategy))
	}
	if x.tasks != nil && !slices.Equal(x.tasks, m.TaskIDs()) {
		return otherThanManifest("/taskIds", "the tasks of the manifest")
	}
	if x.allowed != nil && (m.Session.AllowedCommands == nil || !slices.Equal(*x.allowed, *m.Session.AllowedCommands)) {
		return otherThanManifest("/allowedCommands", "those of the manifest")
	}
	for _, t := range m.Tasks {
		if x.project != "" && t.ProjectID != x.project {
			return otherThanManifest("/project", t.ProjectID)
		}
	}
	return nil
}

// takeManifest fills in what the manifest says; what the command says too must be the same.
func (s *server) takeManifest(ctx context.Context, c *call, x *commands.SpawnSession) error {
	m, err := s.named(ctx, c, "session:spawn", x.ManifestDigest)
	if err != nil {
		return err
	}
	if err := (said{cmpOr(x.Project, c.by.Project), x.Role, x.Strategy, x.TaskIDs, x.Allowed}).agree(m); err != nil {
		return err
	}
	if x.Agent == defaultAgent && m.Session.Agent == "" {
		x.Agent = ""
	}
	for _, field := range []struct{ pointer, says, should string }{
		{"/model", x.Model, m.Session.Model},
		{"/agent", x.Agent, m.Session.Agent},
		{"/permissionMode", x.PermissionMode, string(m.Session.PermissionMode)},
		{"/thinkingMode", x.ThinkingMode, m.Session.ThinkingMode},
		{"/workingDirectory", x.WorkingDirectory, m.Session.WorkingDirectory},
		{"/templateId", x.TemplateID, m.TemplateID},
	} {
		if field.says != "" && field.says != field.should {
			return otherThanManifest(field.pointer, field.should)
		}
	}
	switch {
	case x.Skills != nil && !slices.Equal(x.Skills, m.Skills):
		return otherThanManifest("/skills", "those of the manifest")
	case x.MaxTurns != 0 && x.MaxTurns != m.Session.MaxTurns:
		return otherThanManifest("/maxTurns", strconv.Itoa(m.Session.MaxTurns))
	case x.Timeout != 0 && x.Timeout != m.Session.Timeout:
		return otherThanManifest("/timeout", strconv.FormatInt(m.Session.Timeout, 10))
	case len(x.Context) > 0:
		return otherThanManifest("/context", "what it has is in its context.custom")
	}
	x.Role, x.Strategy, x.TaskIDs, x.Allowed = m.Role, m.Axes().Strategy, m.TaskIDs(), m.Session.AllowedCommands
	x.Model, x.Agent, x.Skills, x.Timeout = m.Session.Model, m.Session.Agent, m.Skills, m.Session.Timeout
	if x.Project == "" && c.by.Kind == commands.ActorUser && len(m.Tasks) > 0 {
		x.Project = m.Tasks[0].ProjectID
	}
	// What is written in it cannot be cut to the spawner's own: asked for as a list, more than that is refused.
	if x.Allowed == nil && s.ownAtMost(c, x.Role, x.Strategy) != nil {
		all := m.Axes().Commands
		x.Allowed = &all
	}
	return nil
}

// defaultAgent is the one that a manifest means that names none.
const defaultAgent = "claude"

// ownAtMost gives the commands that are left of a role's default when an orchestrator gives them to another orchestrator; nil
// if nothing is cut.
func (s *server) ownAtMost(c *call, role events.Role, strategy events.Strategy) (left *[]string) {
	if c.by.Kind != commands.ActorSession || role != events.RoleOrchestrator {
		return nil
	}
	s.Handler.View(func(state *projections.State) {
		spawner := state.Session(c.by.Name)
		if spawner == nil || spawner.Permissions == nil {
			return
		}
		all := commands.CurrentRules().Defaults(commands.Letter(role, strategy))
		own := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !slices.Contains(spawner.Permissions.Commands, id) })
		if len(own) < len(all) {
			left = &own
		}
	})
	return left
}

func otherThanManifest(pointer, should string) error {
	return invalid(pointer, "the manifest says otherwise: '%s'", printable(should))
}

// registerWith is takeManifest for a session that nobody spawned.
func (s *server) registerWith(ctx context.Context, c *call, x *commands.RegisterSession) error {
	m, err := s.named(ctx, c, "session:register", x.ManifestDigest)
	if err != nil {
		return err
	}
	if err := (said{x.Project, x.Role, x.Strategy, x.TaskIDs, x.Allowed}).agree(m); err != nil {
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
	m, err := s.named(ctx, c, "session:update", *x.ManifestDigest)
	if err != nil {
		return err
	}
	axes := m.Axes()
	s.Handler.View(func(state *projections.State) {
		session := state.Session(x.SessionID)
		if session == nil || session.Permissions == nil {
			return // the decision says so
		}
		if err = (said{project: session.ProjectID}).agree(m); err != nil {
			return
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
	if left := s.ownAtMost(c, x.Role, x.Strategy); left != nil && x.Allowed == nil {
		from.AllowedCommands = left // as the decision cuts it
	}
	known := true
	long := map[int]string{}
	s.Handler.View(func(state *projections.State) {
		known = sourceOf(state, &from, cmpOr(x.Project, c.by.Project), x, long)
	})
	if !known {
		return nil
	}
	for i, digest := range long {
		text, err := s.blobOf(ctx, digest)
		if err != nil {
			return &commands.UnavailableError{Why: "the description of task '" + from.Tasks[i].ID + "' could not be read", Next: "try again with the same key", Err: err}
		}
		from.Tasks[i].Description = string(text)
	}
	m, err := manifest.Generate(from)
	if err != nil {
		// What the decision refuses too, it says in the words that clients know.
		if s.decided(c, x) {
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

// mostBelow is how many tasks below its own are looked up for a session; its manifest tells of no more.
const mostBelow = 100

// sourceOf gathers what a manifest tells of tasks; false when one is not there. Of the session's own tasks whose description is
// too long for the state, long gets the blob that holds it whole, by the task's place.
func sourceOf(state *projections.State, from *manifest.Source, project string, x *commands.SpawnSession, long map[int]string) bool {
	p := state.Project(project)
	if p == nil {
		return false
	}
	if from.WorkingDirectory == "" {
		from.WorkingDirectory = p.WorkingDir
	}
	tasks := unique(x.TaskIDs)
	around := map[string]bool{}
	add := func(t *projections.Task) {
		if t != nil && !around[t.ID] && !slices.Contains(tasks, t.ID) {
			around[t.ID] = true
			from.Around = append(from.Around, taskSource(state, t))
		}
	}
	for _, id := range tasks {
		t := state.Task(id)
		if t == nil {
			return false
		}
		if digest := t.Blobs["description"]; digest != "" {
			long[len(from.Tasks)] = digest
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
			if !around[child.ID] && !slices.Contains(tasks, child.ID) {
				below++
				add(child)
			}
		}
	}
	from.Custom = custom(state, tasks, x.Context)
	return true
}

// unique gives ids once each, as the decision does; never nil.
func unique(ids []string) []string {
	once := make([]string, 0, len(ids))
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
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
		story := &predecessorStory{SessionID: x.ID, Name: x.Name, Status: string(x.Status), EndReason: x.EndReason, Last: []string{}}
		for _, e := range state.SessionTimeline(id).Views(predecessorEntries, func(e *projections.Entry) bool { return e.Message != "" && !e.Bare }) {
			story.Last = append(story.Last, e.Type+": "+e.Message)
		}
		return story
	}
	return nil
}

// placeManifest puts a copy of a session's manifest, when it has got one, where the sessions of this machine look. It is the one
// that counts now: a retry answers an event that others may have followed. Without it a session fetches its own from the server.
func (s *server) placeManifest(ctx context.Context, data events.Data) {
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
	s.placing.Lock() // what is looked up later is put there later
	defer s.placing.Unlock()
	digest := ""
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			digest = x.ManifestDigest
		}
	})
	if digest == "" {
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
