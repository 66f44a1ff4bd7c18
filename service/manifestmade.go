package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/workers/manifest"
)

// generateManifest creates a session's manifest from the state, stores it, and returns it. A dry run does not store it.
func (s *Service) generateManifest(
	ctx context.Context, c *Caller, x *commands.SpawnSession, dryRun bool,
) ([]byte, error) {
	from := manifest.Source{Said: manifest.Said(x)}
	if left := s.ownAtMost(c, x.Role, x.Strategy); left != nil && x.Allowed == nil {
		from.Said.Session.AllowedCommands = left // as the decision cuts it
	}
	if err := s.KnownTemplate(x.TemplateID); err != nil && !s.decided(ctx, c, x) {
		return nil, err
	}
	if err := s.knownAgent(x); err != nil && !s.decided(ctx, c, x) {
		return nil, err
	}
	g := &gathering{
		from:    &from,
		project: cmpOr(x.Project, c.By.Project),
		ids:     unique(x.TaskIDs),
		spawns:  true,
		context: x.Context,
	}
	if x.Like != nil {
		g.like = *x.Like
	}
	defer g.free()
	m, err := s.makeManifest(ctx, c, g)
	var invalid *manifest.InvalidError
	switch {
	case g.undecided() || errors.As(err, &invalid) && s.decided(ctx, c, x):
		return nil, nil // the decision refuses it too, in the words that clients know
	case err != nil:
		return nil, invalidRequest(err)
	}
	canonical := m.Canonical()
	c.worked(len(canonical) / bytesPerStep)
	x.Generated = manifest.Digest(canonical)
	if dryRun || s.Handler.Redaction(x.Generated) != nil { // then the decision refuses it, or recognises a retry
		return nil, nil
	}
	if err := s.upload(ctx, c, len(canonical)); err != nil {
		return nil, err
	}
	if _, err := s.putManifest(ctx, canonical); err != nil {
		return nil, err
	}
	return canonical, nil
}

// knownAgent refuses an agent that the home does not configure, and one that cannot ask before it acts if it shall. A
// manifest says the first too, in words for its author.
func (s *Service) knownAgent(x *commands.SpawnSession) error {
	name := x.Agent
	if s.Agents == nil || name == "" {
		return nil
	}
	configured := s.Agents()
	known := slices.Insert(configured.Names, 0, "auto")
	switch {
	case slices.Contains(configured.Unguarded, name) && x.PermissionMode == string(manifest.Interactive):
		refusal := Invalid("/permissionMode", "The agent '%s' has no hook, so nobody can be asked before it acts", name)
		refusal.Why = "only claude, codex and gemini ask in the mode interactive"
		refusal.Next = "spawn the session with another --permission-mode, acceptEdits or readOnly, or with another " +
			"agent"
		return refusal
	case slices.Contains(known, name):
		return nil
	}
	if configured.Fault != "" {
		refusal := Invalid("/agent", "Whether there is an agent '%s' on the server's machine is not known",
			safetext.Printable(name))
		refusal.Why, refusal.Next = configured.Fault, configured.Fix
		return refusal
	}
	refusal := Invalid("/agent", "There is no agent '%s' on the server's machine", safetext.Printable(name))
	refusal.Why = "there are " + strings.Join(known, ", ")
	refusal.Next = "name one of them, or add it to agents.json of the server's home"
	return refusal
}

// bytesPerStep is how many bytes of a manifest that is read or written count as one step. Neither happens in the
// writer.
const bytesPerStep = 160

// unique returns ids once each, as the decision does; never nil.
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

// custom returns a manifest's free context: what the caller gave, the tasks, which existing clients look for, and, for
// a successor, what its predecessors on the primary task said last.
func custom(tasks []string, context json.RawMessage, before *predecessors) json.RawMessage {
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
	if before != nil {
		fields[manifest.PredecessorKey] = before.manifest()
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return encoded
}

// placedAtOnce is how many manifests are placed concurrently. Each takes up to 16 MiB meanwhile.
const placedAtOnce = 8

// EnsureManifest puts a copy of a session's manifest where the sessions of this machine look for it, for a client that
// is told of the session before the answer to the spawn was sent.
func (s *Service) EnsureManifest(ctx context.Context, session string) {
	s.placeManifest(ctx, &events.SessionSpawned{SessionID: session}, nil)
}

// placeManifest puts a copy of a session's manifest, if it has one, where the sessions of this machine look for it. It
// uses the current manifest, because a retry may answer with an event that others have followed; usually that is the
// one that was generated for this command. Without the copy a session fetches its manifest from the server.
func (s *Service) placeManifest(ctx context.Context, data events.Data, generated []byte) {
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
	placing := s.placing[crc32.ChecksumIEEE([]byte(session))%placedAtOnce]
	placing <- struct{}{} // so that later look-ups are also placed later
	defer func() { <-placing }()
	digest := ""
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			digest = x.ManifestDigest
		}
	})
	if digest == "" {
		return
	}
	content, err := generated, error(nil)
	if content == nil || manifest.Digest(content) != digest {
		content, err = s.readBlob(ctx, digest, func(int) {})
	}
	if err == nil {
		err = s.Manifests.PlaceManifest(session, content)
	}
	if err != nil {
		s.Logger.Warn("a manifest could not be put in place", "session", session, "why", err)
	}
}
