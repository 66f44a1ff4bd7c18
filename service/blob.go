package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// mayReadBlob lets callers that may read the whole log read every blob. Others may read what is named in projects that
// they may read: by a project, a task, a session's manifest, or a timeline entry.
func (v View) mayReadBlob(digest string) error {
	if v.Caller.By.Kind == commands.ActorUser && v.Permit("audit:export", "") == nil {
		return nil
	}
	if err := v.Permit("whoami", ""); err != nil {
		return err
	}
	seen := map[string]bool{} // by project
	for _, ref := range v.BlobRefs(digest) {
		project, row, named := v.refers(ref, digest)
		sees, known := seen[project]
		if !known {
			sees = v.Project(project) != nil && v.Permit("status", project) == nil
			seen[project] = sees
		}
		if named && sees && (row == "" || v.Permit(row, project) == nil) {
			return nil
		}
	}
	return NotFound("Blob", digest)
}

// refers returns the project of the object that names a blob, and the row that lets a caller read the object, "" for
// the caller's own. named is false if the object is gone, or no longer names the blob.
func (v View) refers(ref projections.BlobRef, digest string) (project, row string, named bool) {
	switch ref.Kind {
	case projections.KindProject:
		if p := v.Project(ref.ID); p != nil {
			return p.ID, "project:get", slices.Contains(slices.Collect(maps.Values(p.Blobs)), digest)
		}
	case projections.KindTask, projections.KindTaskTimeline:
		if t := v.Task(ref.ID); t != nil {
			inField := slices.Contains(slices.Collect(maps.Values(t.Blobs)), digest)
			return t.ProjectID, "task:get", inField || ref.Kind == projections.KindTaskTimeline
		}
	case projections.KindSession, projections.KindSessionTimeline:
		if x := v.Session(ref.ID); x != nil {
			if ref.Kind == projections.KindSession && !v.Caller.readsMail(x) {
				return "", "", false // its manifest is read like its mail
			}
			row = "session:info"
			if v.Caller.By.Kind == commands.ActorSession && x.ID == v.Caller.By.Name {
				row = ""
			}
			return x.ProjectID, row, ref.Kind == projections.KindSessionTimeline || x.ManifestDigest == digest
		}
	default:
	}
	return "", "", false
}

// GetBlob returns a long text. A digest grants no access: a caller gets only what is named by something that it may
// read.
func (s *Service) GetBlob(ctx context.Context, c *Caller, digest string) (content []byte, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	defer leave()
	if !events.IsDigest(digest) {
		return nil, Invalid(
			"/digest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", safetext.Printable(digest),
		)
	}
	named := false
	err = s.Look(ctx, c, func(v View) error {
		named = len(v.BlobRefs(digest)) > 0
		return v.mayReadBlob(digest)
	})
	if err != nil {
		return nil, err
	}
	if !named {
		return s.readBlob(ctx, digest, c.readText)
	}
	return s.readNamed(ctx, c, digest, "The long text is lost")
}

// readNamed reads a text that the log names. If the store does not have it, it fails with a Problem with the code
// TEXT_LOST and the message lost.
func (s *Service) readNamed(ctx context.Context, c *Caller, digest, lost string) ([]byte, error) {
	content, err := s.readBlob(ctx, digest, c.readText)
	var p *Problem
	if errors.As(err, &p) && p.Kind == KindNotFound && p.Code != wire.CodeRedacted {
		return nil, &Problem{
			Kind:    KindInternal,
			Code:    "TEXT_LOST",
			Message: lost,
			Why:     "the log names " + digest + ", and the server cannot read it",
			Next:    engine.FaultText.Next(),
		}
	}
	return content, err
}

// readBlob returns the bytes for a digest. It charges for them before it reads them if their number is known, so that a
// caller that leaves meanwhile has paid. It fails with a Problem, of KindNotFound if there are none or of
// KindUnavailable if they cannot be read now, or with ctx's error. It checks no permission.
func (s *Service) readBlob(ctx context.Context, digest string, charge func(bytes int)) ([]byte, error) {
	if s.Blobs == nil {
		return nil, NotFound("Blob", digest)
	}
	if r := s.Handler.Redaction(digest); r != nil {
		return nil, redactedProblem(r)
	}
	charged := 0
	if sizes, known := s.Blobs.(blobSizes); known {
		if size, err := sizes.BlobSize(ctx, digest); err == nil {
			charged = int(size)
			charge(charged)
		}
	}
	content, err := s.Blobs.Blob(ctx, digest)
	if err == nil {
		if more := len(content) - charged; more > 0 {
			charge(more)
		}
		return content, nil
	}
	if gone := ctx.Err(); gone != nil {
		return nil, gone
	}
	if failed := s.unread.due(); failed > 0 {
		s.Logger.Warn("a long text could not be read", "digest", digest, "why", err, "failed", failed)
	}
	if errors.Is(err, events.ErrNoBlob) || errors.Is(err, events.ErrBadBlob) {
		return nil, NotFound("Blob", digest)
	}
	return nil, (&Problem{
		Kind:       KindUnavailable,
		Code:       wire.CodeUnavailable,
		Message:    "The long text cannot be read now",
		Why:        "the server did not get it from its store; its log says why",
		Next:       "try again",
		RetryAfter: time.Second,
	}).Complete()
}

// readText charges the call for a long text that is read for it, as a part of its answer. It is not charged again when
// it is sent.
func (c *Caller) readText(bytes int) {
	if c.admission != nil {
		c.admission.readText(int64(bytes))
	}
}

// chargedWork charges the call for a long text as for work.
func (c *Caller) chargedWork(bytes int) { c.worked(bytes / bytesPerStep) }

// noStore is the refusal of a server without long texts.
func noStore() *Problem { return NoPart("store of long texts", "it keeps the log only") }
