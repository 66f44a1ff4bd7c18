package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/workers/manifest"
)

// withManifest gives a command a manifest for its session: the one that it names, checked against its other fields, or
// a generated one, which it returns. It leaves what cannot be decided without a manifest to the decision.
func (s *Service) withManifest(
	ctx context.Context, c *Caller, command commands.Command, dryRun bool,
) (generated []byte, err error) {
	switch x := command.(type) {
	case *commands.SpawnSession:
		if x.ManifestDigest == "" {
			x.Allowed = readOnlyList(x)
		}
		if s.Blobs == nil || s.Permit(c, "session:spawn", cmpOr(x.Project, c.By.Project)) != nil {
			return nil, nil
		}
		if x.ManifestDigest != "" {
			return nil, s.takeManifest(ctx, c, x, dryRun)
		}
		return s.generateManifest(ctx, c, x, dryRun)
	case *commands.RegisterSession:
		if x.ManifestDigest == "" || c.By.Kind != commands.ActorUser ||
			s.Permit(c, "session:register", x.Project) != nil {
			return nil, nil
		}
		return nil, s.registerWith(ctx, c, x, dryRun)
	case *commands.UpdateSession:
		if x.ManifestDigest == nil || s.Permit(c, "session:update", "") != nil {
			return nil, nil
		}
		if err := s.issueAgain(ctx, c, x, dryRun); err != nil && !s.decided(ctx, c, x) {
			return nil, err
		}
	}
	return nil, nil
}

// readOnlyList returns the list of commands of a session that is to be spawned: the one that it asks for, that of a
// worker that reads only, or nil.
func readOnlyList(x *commands.SpawnSession) *[]string {
	if x.Allowed != nil || x.PermissionMode != string(manifest.ReadOnly) || x.Role == events.RoleOrchestrator {
		return x.Allowed
	}
	strategy, err := commands.ResolveStrategy(events.RoleWorker, x.Strategy)
	if err != nil {
		return nil // the decision reports it
	}
	list := commands.ReadOnlyCommands(strategy)
	return &list
}

// listOf returns the list of commands of a manifest's session: the manifest's own, that of a worker that reads only, or
// nil.
func listOf(m *manifest.Manifest) *[]string {
	reads := m.Session.PermissionMode == manifest.ReadOnly && m.Role == events.RoleWorker
	if m.Session.AllowedCommands != nil || !reads {
		return m.Session.AllowedCommands
	}
	list := m.Axes().Commands
	return &list
}

// decided reports whether the decision refuses a command too, or already accepted it under its key: the decision then
// answers.
func (s *Service) decided(ctx context.Context, c *Caller, command commands.Command) bool {
	answer, err := s.try(ctx, c, engine.Request{
		By:      c.By,
		Command: command,
		Key:     c.Meta.Key,
		Worked:  c.worked,
	})
	return err != nil || answer.Retried
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// named returns the manifest that a digest names. Except in a dry run, the caller pays for the copy that is placed for
// the session.
func (s *Service) named(ctx context.Context, c *Caller, row, digest string, dryRun bool) (*manifest.Manifest, error) {
	if !events.IsDigest(digest) {
		return nil, Invalid("/manifestDigest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits",
			safetext.Printable(digest))
	}
	if err := s.mayName(ctx, c, row, digest); err != nil {
		return nil, err
	}
	var document []byte
	read := func() (_ []byte, err error) {
		document, err = s.readBlob(ctx, digest, c.chargedWork)
		return document, err
	}
	m, length, err := s.parseManifest(ctx, c, read)
	var invalid *manifest.InvalidError
	if errors.As(err, &invalid) {
		// The faults of the document would reveal content that is not the caller's.
		return nil, Invalid("/manifestDigest", "'%s' is not the digest of a manifest", digest)
	}
	if err != nil {
		return nil, err
	}
	if err := s.checkOwnProjects(c, row, m); err != nil || dryRun {
		return m, err
	}
	if err := s.upload(ctx, c, length); err != nil {
		return nil, err
	}
	// A blob that can be read may not be on the disk yet, but an event is about to name it.
	if _, err := s.putManifest(ctx, document); err != nil {
		return nil, err
	}
	return m, nil
}

// mayName refuses a digest that only objects of other projects name, unless the session stored that manifest itself: a
// digest grants no access. A manifest that nothing names reveals nothing about anybody.
func (s *Service) mayName(ctx context.Context, c *Caller, row, digest string) error {
	return s.Look(ctx, c, func(v View) error {
		refs := v.BlobRefs(digest)
		if len(refs) == 0 || c.By.Kind != commands.ActorSession || s.stored.by(c, digest) {
			return nil
		}
		for _, ref := range refs {
			if project, _, _ := v.refers(ref, digest); project != "" && v.Permit(row, project) == nil {
				return nil
			}
		}
		unknown := NotFound("Blob", digest)
		unknown.Next = "store the manifest first, and name the digest that this answers"
		return unknown
	})
}

// said holds a command's fields besides its manifest. Each must agree with the manifest or be empty.
type said struct {
	project  string
	role     events.Role
	strategy events.Strategy
	tasks    []string
	allowed  *[]string
}

// agree checks what a command says about a session against its manifest.
func (x said) agree(m *manifest.Manifest) error {
	if x.role != "" && x.role != m.Role {
		return otherThanManifest("/role", string(m.Role))
	}
	strategy := m.Axes().Strategy
	if meant, err := commands.ResolveStrategy(m.Role, x.strategy); x.strategy != "" &&
		(err != nil || meant != strategy) {
		return otherThanManifest("/strategy", string(strategy))
	}
	if x.tasks != nil && !slices.Equal(x.tasks, m.TaskIDs()) {
		return otherThanManifest("/taskIds", strings.Join(m.TaskIDs(), ", "))
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

// takeManifest sets a command's fields from the manifest. Fields that the command sets itself must agree.
func (s *Service) takeManifest(ctx context.Context, c *Caller, x *commands.SpawnSession, dryRun bool) error {
	m, err := s.named(ctx, c, "session:spawn", x.ManifestDigest, dryRun)
	if err != nil {
		return err
	}
	if err := (said{cmpOr(x.Project, c.By.Project), x.Role, x.Strategy, x.TaskIDs, x.Allowed}).agree(m); err != nil {
		return err
	}
	if x.Agent == defaultAgent && m.Session.Agent == "" {
		x.Agent = ""
	}
	asked := *x
	asked.Role, asked.Strategy, asked.Allowed = "", "", nil // they agree
	if name, should := m.Otherwise(&asked); name != "" {
		return otherThanManifest("/"+name, should)
	}
	if len(x.Context) > 0 {
		return otherThanManifest("/context", "what it has is in its context.custom")
	}
	x.Role, x.Strategy, x.TaskIDs, x.Allowed = m.Role, m.Axes().Strategy, m.TaskIDs(), listOf(m)
	x.Model, x.Agent, x.Skills, x.Timeout = m.Session.Model, m.Session.Agent, m.Skills, m.Session.Timeout
	x.Stated = statedIn(m)
	if x.Project == "" && c.By.Kind == commands.ActorUser && len(m.Tasks) > 0 {
		x.Project = m.Tasks[0].ProjectID
	}
	// The manifest's list cannot be cut to the spawner's own commands. It is requested as a list, and the decision
	// refuses more than that.
	if x.Allowed == nil && s.ownAtMost(c, x.Role, x.Strategy) != nil {
		all := m.Axes().Commands
		x.Allowed = &all
	}
	return nil
}

// statedIn returns the options that a manifest states, nil if they are the defaults.
func statedIn(m *manifest.Manifest) *events.AgentOptions {
	if stated := m.Options(); stated != (events.AgentOptions{}) {
		return &stated
	}
	return nil
}

// defaultAgent is the agent of a manifest that names none.
const defaultAgent = "claude"

// ownAtMost returns a role's default commands, cut to those that an orchestrator may give to another orchestrator; nil
// if nothing is cut.
func (s *Service) ownAtMost(c *Caller, role events.Role, strategy events.Strategy) (left *[]string) {
	if c.By.Kind != commands.ActorSession || role != events.RoleOrchestrator {
		return nil
	}
	var spawner *projections.Session
	s.Handler.View(func(state *projections.State) { spawner = state.Session(c.By.Name) })
	if spawner == nil || spawner.Permissions == nil {
		return nil
	}
	all := commands.CurrentRules().Defaults(commands.RoleSetOf(role, strategy))
	own := slices.DeleteFunc(slices.Clone(all),
		func(id string) bool { return !slices.Contains(spawner.Permissions.Commands, id) })
	if len(own) == len(all) {
		return nil
	}
	return &own
}

func otherThanManifest(pointer, should string) error {
	return Invalid(pointer, "the manifest has another value: %s", safetext.Printable(should))
}

// registerWith is takeManifest for a session that was not spawned.
func (s *Service) registerWith(ctx context.Context, c *Caller, x *commands.RegisterSession, dryRun bool) error {
	m, err := s.named(ctx, c, "session:register", x.ManifestDigest, dryRun)
	if err != nil {
		return err
	}
	if err := (said{x.Project, x.Role, x.Strategy, x.TaskIDs, x.Allowed}).agree(m); err != nil {
		return err
	}
	x.Create, x.Role, x.Strategy, x.TaskIDs, x.Allowed = true, m.Role, m.Axes().Strategy, m.TaskIDs(), listOf(m)
	x.Stated = statedIn(m)
	if x.Project == "" && len(m.Tasks) > 0 {
		x.Project = m.Tasks[0].ProjectID
	}
	return nil
}

// issueAgain checks a manifest that is issued again against the rights that the session was given: those are frozen.
func (s *Service) issueAgain(ctx context.Context, c *Caller, x *commands.UpdateSession, dryRun bool) error {
	m, err := s.named(ctx, c, "session:update", *x.ManifestDigest, dryRun)
	if err != nil {
		return err
	}
	axes, stated := m.Axes(), m.Options()
	x.Stated = &stated
	var session *projections.Session
	s.Handler.View(func(state *projections.State) { session = state.Session(x.SessionID) })
	if session == nil || session.Permissions == nil {
		return nil // the decision reports it
	}
	if err := (said{project: session.ProjectID}).agree(m); err != nil {
		return err
	}
	may := slices.Clone(session.Permissions.Commands)
	slices.Sort(may)
	wants := slices.Clone(axes.Commands)
	slices.Sort(wants)
	if m.Role != session.Role || axes.Strategy != session.Strategy || !slices.Equal(may, wants) {
		return &commands.Refusal{
			Code:    commands.CodeConflict,
			Message: "The manifest gives other rights than session '" + session.ID + "' has",
			Why:     "role, strategy and allowed commands are frozen when a session is made",
			Next:    "spawn another session with it",
		}
	}
	return nil
}
