package salvage

import (
	"errors"
	"slices"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
)

// texts copies every readable long text that was not redacted, and takes those that the events name and the store lost
// from the files.
func (s *salvage) texts(b *bus.Builder) error {
	if err := s.ownTexts(b); err != nil {
		return err
	}
	named := slices.DeleteFunc(slices.Concat(s.verifier.Texts(), s.named), func(text engine.NamedText) bool {
		return s.redacted[text.Digest]
	})
	missing := map[string]bool{}
	for _, text := range named {
		if !s.kept[text.Digest] {
			missing[text.Digest] = true
		}
	}
	s.report.UnreadTexts = len(missing)
	for _, f := range s.sources {
		if len(missing) == 0 {
			break
		}
		var unwritten error
		err := f.blobs(s.ctx, func(digest string) bool { return missing[digest] }, func(content []byte) error {
			// Its digest proves the content, whoever made the file.
			if unwritten = b.Blob(content); unwritten != nil {
				return unwritten
			}
			digest := bus.Digest(content)
			delete(missing, digest)
			s.kept[digest] = true
			s.report.FilledTexts[f.path]++
			return nil
		})
		if err := errors.Join(unwritten, s.ctx.Err()); err != nil { // not a fault of the file
			return err
		}
		s.noteFormat(f.path, err)
		if err != nil && s.report.Unused[f.path] == "" {
			s.report.Unused[f.path] = err.Error()
		}
	}
	s.report.Texts = len(s.kept)
	s.noteUnnamed(named)
	for _, text := range named {
		if missing[text.Digest] {
			delete(missing, text.Digest)
			why := s.why[text.Digest]
			if why == "" {
				why = "no such long text"
			}
			s.report.LostTexts = append(s.report.LostTexts, engine.LostText{NamedText: text, Why: why})
		}
	}
	return nil
}

// redact notes that an event after a gap says that a text was redacted.
func (s *salvage) redact(digest string) {
	if s.redacted == nil {
		s.redacted = map[string]bool{}
	}
	s.redacted[digest] = true
}

// noteUnnamed reports that there are texts without an event, when events at the end may be lost.
func (s *salvage) noteUnnamed(named []engine.NamedText) {
	if !s.report.EndUnknown {
		return
	}
	unnamed := len(s.kept)
	seen := map[string]bool{}
	for _, text := range named {
		if s.kept[text.Digest] && !seen[text.Digest] {
			seen[text.Digest] = true
			unnamed--
		}
	}
	if unnamed > 0 {
		s.note("long texts that no event names, because the events may be lost: %d", unnamed)
	}
}

func (s *salvage) ownTexts(b *bus.Builder) error {
	if s.store == nil {
		return nil
	}
	digests, err := s.store.Blobs(s.ctx)
	if err != nil {
		return err
	}
	for _, digest := range digests {
		if s.verifier.Redacted(digest) || s.redacted[digest] {
			continue // a copy that was set aside may hold it
		}
		content, err := s.store.Blob(s.ctx, digest)
		if err != nil {
			if s.ctx.Err() != nil {
				return err
			}
			s.why[digest] = err.Error()
			continue
		}
		if err := b.Blob(content); err != nil {
			return err
		}
		s.kept[digest] = true
	}
	return nil
}

// denialBatch is how many refusals are stored at once.
const denialBatch = 256

// refusals copies the readable recorded refusals.
func (s *salvage) refusals(b *bus.Builder) error {
	if s.store == nil {
		return nil
	}
	var batch []events.StoredDenial
	flush := func() error {
		err := b.Denials(batch)
		batch = batch[:0]
		return err
	}
	err := s.store.LoadDenials(s.ctx, func(d events.StoredDenial) error {
		batch = append(batch, d)
		s.report.Refusals++
		if len(batch) < denialBatch {
			return nil
		}
		return flush()
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return flush()
}
