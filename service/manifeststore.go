package service

import (
	"context"
	"errors"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// MayStoreManifest checks the permission, and for a user's token also that it may write: a row without an event is a
// read to the table.
func (s *Service) MayStoreManifest(c *Caller) error {
	const row = RowOfManifest
	if err := s.Permit(c, row, ""); err != nil {
		return err
	}
	if c.By.Kind == commands.ActorUser && c.By.Access != commands.AccessAdmin {
		return &commands.Refusal{
			Code: commands.CodeNotAllowed,
			Rule: row,
			Message: "Command '" + row + "' is not allowed for the " + string(c.By.Access) + " token '" + c.By.Name +
				"'",
			Why:  "a token of kind " + string(c.By.Access) + " writes nothing",
			Next: "use an admin token",
		}
	}
	return nil
}

// checkOwnProjects restricts a session to objects of projects that it works in, because a caller that names a manifest
// may read it.
func (s *Service) checkOwnProjects(c *Caller, row string, m *manifest.Manifest) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	for _, t := range m.Tasks {
		if err := s.Permit(c, row, t.ProjectID); err != nil {
			return err
		}
	}
	return nil
}

// invalidManifest is the answer to an invalid manifest, with all its faults.
func invalidManifest(err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return faulty(invalid)
}

// faulty is the problem with a manifest that has faults.
func faulty(invalid *manifest.InvalidError) *Problem {
	return &Problem{
		Kind:    KindRule,
		Domain:  true,
		Code:    "INVALID_MANIFEST",
		Message: invalid.Error(),
		Why:     "each fault is in details.errors, with its place",
		Next:    "see the schema: `maestro manifest schema`",
		Details: invalid,
	}
}

// invalidRequest is the answer to a request of which no valid manifest can be made: it names the field of the request
// if that is at fault, as the options of a session are, and otherwise the faults of the manifest.
func invalidRequest(err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	p := faulty(invalid)
	for _, fault := range invalid.Faults {
		pointer, option := strings.CutPrefix(fault.Pointer, "/session")
		if option || strings.HasPrefix(pointer, "/skills") {
			name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
			p.Pointer, p.Message = pointer, name+" "+fault.Message
			p.Why = wire.InvalidWhy
			p.Next = "give one that is allowed: `maestro session spawn --help` describes each option"
			break
		}
	}
	return p
}

// StoreManifest checks a manifest that was written by hand and stores it, for a spawn to name.
func (s *Service) StoreManifest(ctx context.Context, c *Caller, document []byte) (wire.StoredManifest, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true, Bytes: int64(len(document))})
	if err != nil {
		return wire.StoredManifest{}, err
	}
	defer leave()
	if err := s.MayStoreManifest(c); err != nil {
		return wire.StoredManifest{}, err
	}
	m, _, err := s.parseManifest(ctx, c, func() ([]byte, error) { return document, nil })
	if err != nil {
		return wire.StoredManifest{}, invalidManifest(err)
	}
	if err := s.checkOwnProjects(c, RowOfManifest, m); err != nil {
		return wire.StoredManifest{}, err
	}
	if s.Blobs == nil {
		return wire.StoredManifest{}, noStore()
	}
	canonical := m.Canonical()
	if err := s.upload(ctx, c, len(canonical)); err != nil {
		return wire.StoredManifest{}, err
	}
	digest, err := s.putManifest(ctx, canonical)
	if err != nil {
		return wire.StoredManifest{}, err
	}
	s.stored.add(c, digest)
	axes := m.Axes()
	return wire.StoredManifest{
		Digest:   digest,
		Role:     m.Role,
		Strategy: axes.Strategy,
		TaskIDs:  m.TaskIDs(),
		Commands: axes.Commands,
	}, nil
}

// mayShowManifest lets those read a session's manifest that may read its mail: like mail, it is what was written to it.
func (c *Caller) mayShowManifest(x *projections.Session) error {
	if c.readsMail(x) {
		return nil
	}
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    "manifest:show",
		Message: "Session '" + c.By.Name + "' may not read the manifest of session '" + x.ID + "'",
		Why:     "a session reads its own manifest, and those of the sessions that it spawned",
		Next:    "see `maestro session info " + x.ID + "`, or ask the user",
	}
}

// SessionManifest returns the manifest that a session was given, and its digest.
func (s *Service) SessionManifest(
	ctx context.Context, c *Caller, id string,
) (content []byte, digest string, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, "", err
	}
	defer leave()
	var spawn events.SessionSpawned
	var project string
	s.Handler.View(func(state *projections.State) {
		v := s.At(state, c)
		var x *projections.Session
		if c.By.Kind == commands.ActorSession && id == c.By.Name {
			x, err = v.PermitSession("whoami", id) // the session's own manifest, whatever its list of commands says
		} else {
			x, err = v.PermitSession("manifest:show", id)
		}
		if err == nil {
			err = c.mayShowManifest(x)
		}
		if err == nil {
			digest, project = x.ManifestDigest, x.ProjectID
			spawn = events.SessionSpawned{
				SessionID: x.ID,
				Role:      x.Role,
				Strategy:  x.Strategy,
				TaskIDs:   x.TaskIDs,
				Queue:     x.Queue,
			}
		}
	})
	if err == nil && digest == "" {
		err = NotFound("Manifest of session", id)
	}
	if err != nil {
		return nil, "", err
	}
	content, err = s.readNamed(ctx, c, digest, "The manifest's text is lost")
	if redactedText(err) {
		err = isRedacted(err, "The manifest of session '"+id+"'", "nothing brings it back: spawn another session, "+
			"whose manifest has to differ: "+commands.SpawnOtherwise(&spawn, project))
	}
	return content, digest, err
}
