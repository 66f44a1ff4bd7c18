package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// redactedProblem is the answer to a read of a text that was removed.
func redactedProblem(r *projections.Redaction) *Problem {
	by := r.By
	if name, user := projections.UserOfSource(by); user {
		by = "user " + safetext.Printable(name)
	}
	return (&Problem{
		Kind:    KindNotFound,
		Code:    wire.CodeRedacted,
		Message: "The text was redacted by " + by + " at " + time.UnixMilli(r.At).UTC().Format(time.RFC3339),
		Why:     safetext.Printable(r.Reason),
		Next: "nothing brings it back; event " + strconv.FormatUint(r.Sequence, 10) +
			" is the record of its removal",
	}).Complete()
}

// RedactedIn returns the long texts of an event that were redacted, nil if none was.
func RedactedIn(s *projections.State, data events.Data) []wire.RedactedText {
	if !s.HasRedactions() { // true for nearly every log
		return nil
	}
	return wire.RedactedTexts(events.Digests(data), s.RedactionView)
}

// redaction shows whether the text of an entry was redacted, in the state that the caller reads.
func (r entryReader) redaction(digest string) (view *projections.RedactionView) {
	if digest == "" {
		return nil
	}
	see := r.service.Handler.View
	if r.caller.past != nil {
		see = r.caller.past.View
	}
	see(func(state *projections.State) { view = state.RedactionView(digest) })
	return view
}

// redactedText reports whether a text could not be read because it was redacted.
func redactedText(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == wire.CodeRedacted
}

// isRedacted says of the error of a redacted text which text of which object it was, and the way out.
func isRedacted(err error, what, next string) error {
	var p *Problem
	if !errors.As(err, &p) {
		return err
	}
	named := *p
	named.Message = what + strings.TrimPrefix(p.Message, "The text")
	named.Next = next
	return &named
}

// fieldWords are what people, and the flags that set them, call the fields of a task with long texts.
var fieldWords = map[string]string{"description": "description", "initialPrompt": "prompt"}

// mayRedact refuses, before anything is recorded, the redaction of a text that neither the log names nor the store
// has: its digest is probably mistyped.
func (s *Service) mayRedact(ctx context.Context, c *Caller, command commands.Command) error {
	x, ok := command.(*commands.RedactText)
	if !ok || !events.IsDigest(x.Text) || s.Permit(c, x.ID(), "") != nil || s.Handler.Redaction(x.Text) != nil {
		return nil // the decision has the words
	}
	named := false
	if err := s.Look(ctx, c, func(v View) error { named = len(v.BlobRefs(x.Text)) > 0; return nil }); err != nil {
		return err
	}
	if named || s.Blobs == nil {
		return nil
	}
	if _, err := s.Blobs.Blob(ctx, x.Text); !errors.Is(err, events.ErrNoBlob) {
		return nil
	}
	p := NotFound("Text", x.Text)
	p.Next = "name an event that names the text: `maestro audit redact --event <sequence>`"
	return p
}

// removeRedacted deletes a text once the log says that it was redacted, and returns what the caller should know. A
// caller that leaves does not interrupt it.
func (s *Service) removeRedacted(ctx context.Context, digest string) (warnings []string) {
	ctx = context.WithoutCancel(ctx)
	warnings = append(s.manifestOf(digest), s.copiesOf(ctx, digest)...) // while there is a text to look for
	if err := s.deleteText(ctx, digest); err != nil {
		s.Logger.Error("a redacted text could not be deleted; the next start tries again",
			"digest", digest, "why", err)
		warnings = append(warnings, "the log records the redaction, but the text could not be deleted yet: "+
			"repeat the command, or restart the server")
	}
	warnings = append(warnings, s.asidesOf()...)
	return append(warnings,
		"backups and exports made before still hold the text: delete them, or keep them as secret as the text",
		fmt.Sprintf("what the events themselves hold stays: at most the first %d bytes of the text",
			events.PreviewText))
}

// deleteText deletes a redacted text from the store, and the manifests of sessions that are copies of it.
func (s *Service) deleteText(ctx context.Context, digest string) error {
	err := s.Handler.DeleteRedacted(ctx, digest)
	if s.Manifests == nil {
		return err
	}
	for _, session := range s.sessionsWith(digest) {
		err = errors.Join(err, s.Manifests.RemoveManifest(session))
	}
	return err
}

// sessionsWith returns the sessions whose manifest is a text.
func (s *Service) sessionsWith(digest string) (sessions []string) {
	s.Handler.View(func(state *projections.State) {
		for _, ref := range state.BlobRefs(digest) { // also of sessions that have another manifest now
			x := state.SessionEver(ref.ID)
			if ref.Kind == projections.KindSession && x != nil && x.ManifestDigest == digest {
				sessions = append(sessions, ref.ID)
			}
		}
	})
	slices.Sort(sessions)
	return slices.Compact(sessions)
}

// manifestOf says what it means that a text that is removed is the manifest of sessions.
func (s *Service) manifestOf(digest string) (warnings []string) {
	sessions := s.sessionsWith(digest)
	if len(sessions) == 0 {
		return nil
	}
	named := strings.Join(sessions[:min(len(sessions), copiesNamed)], ", ")
	if more := len(sessions) - copiesNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return []string{"the text is the manifest of " + named + ": none of them can read it any more, and no session is " +
		"spawned whose manifest would be the same: it needs another option, such as --timeout 720h, or other tasks"}
}

// RemoveRedacted deletes the texts whose redaction the log records and whose deletion was interrupted. It is called
// when a server starts, before it answers.
func (s *Service) RemoveRedacted(ctx context.Context) {
	if s.Handler.Health() != nil {
		return // nothing can be written
	}
	for _, r := range s.Handler.Redactions() {
		if err := s.deleteText(ctx, r.Text); err != nil {
			s.Logger.Error("a redacted text could not be deleted; the next start tries again",
				"digest", r.Text, "why", err)
		}
	}
}

// putManifest stores a manifest, unless it was redacted.
func (s *Service) putManifest(ctx context.Context, content []byte) (digest string, err error) {
	digest = events.DigestPrefix + events.BodyHash(content).String()
	if r := s.Handler.Redaction(digest); r != nil {
		return "", commands.TextRedacted("", r)
	}
	if digest, err = s.Blobs.PutBlob(ctx, content); err != nil {
		return "", &engine.UnavailableError{
			Why:  "the manifest could not be stored",
			Next: "try again with the same key",
			Err:  err,
		}
	}
	if r := s.Handler.Redaction(digest); r != nil { // its deletion may have run before
		return "", errors.Join(commands.TextRedacted("", r), s.Blobs.DeleteBlob(context.WithoutCancel(ctx), digest))
	}
	return digest, nil
}
