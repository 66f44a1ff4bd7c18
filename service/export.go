package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

const exportRefused = "No export was made"

// ExportQuery is the range of an export; the whole log if it is zero.
type ExportQuery struct {
	// Project withholds the bodies of other projects.
	Project string
	// From and To are sequences; "" for the first and the last.
	From, To string
	// Texts, if "true", adds the long texts that the events with bodies name; "" is "false".
	Texts string
}

// Export is a part of the log that a caller may read during the call.
type Export struct {
	service *Service
	project string
	// From and To are the first and the last sequence; From is after To if the export is empty.
	From, To uint64
	// texts says that the texts are exported too; digests are those that were named so far, named the same as a set.
	texts   bool
	digests []string
	named   map[string]bool
}

// Exported is a message of an export.
type Exported struct {
	events.Message
	// Hash is the hash of the chain after the message, PrevHash the one before it, Digest the digest of the body. Hash
	// and PrevHash are zero where the message cannot be read.
	Hash, PrevHash, Digest events.Hash
	// Withheld says that the body belongs to another project: the caller gets only its hash.
	Withheld bool
}

// Export lets show read an export. It fails if the export covers the whole log and the log cannot be read completely.
func (s *Service) Export(
	ctx context.Context, c *Caller, in ExportQuery, show func(ctx context.Context, e *Export) error,
) error {
	return s.copying(ctx, c, "audit-export", func(ctx context.Context) error {
		e, err := s.openExport(ctx, c, in)
		if err != nil {
			return err
		}
		return show(ctx, e)
	})
}

func (s *Service) openExport(ctx context.Context, c *Caller, in ExportQuery) (*Export, error) {
	e := &Export{
		service: s,
		project: in.Project,
		From:    1,
		named:   map[string]bool{},
	}
	var err error
	s.Handler.View(func(state *projections.State) {
		e.To = state.Head().Sequence
		err = s.At(state, c).Permit("audit:export", "")
		if err == nil && in.Project != "" && !state.ProjectExisted(in.Project) {
			err = &Problem{
				Kind:    KindNotFound,
				Code:    string(commands.CodeNotFound),
				Message: "Project with id '" + safetext.Printable(in.Project) + "' not found",
				Why:     "it never existed",
				Next:    "list what exists with `maestro project list`",
			}
		}
	})
	if err == nil {
		e.texts, err = isTrue("texts", in.Texts)
	}
	if err == nil && e.texts && s.Blobs == nil {
		err = noStore()
	}
	if err != nil {
		return nil, err
	}
	if in.From != "" {
		if e.From, err = sequenceNamed("from", in.From); err != nil {
			return nil, err
		}
	}
	if in.To == "" {
		return e, s.RequireIntactLog(ctx, exportRefused)
	}
	to, err := sequenceNamed("to", in.To)
	e.To = min(to, e.To)
	return e, err
}

// isTrue reads a parameter that is true or false; one that is left out is false.
func isTrue(name, text string) (bool, error) {
	if text != "" && text != "true" && text != "false" {
		return false, InvalidRequest("", name+" is true or false, not '"+safetext.Printable(text)+"'")
	}
	return text == "true", nil
}

func sequenceNamed(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, InvalidRequest("", name+" must be a sequence, not '"+safetext.Printable(text)+"'")
	}
	return n, nil
}

// Read yields the messages of the export in order. A message that cannot be parsed is exported as it is, because an
// audit has to show it; the export of a project withholds it.
func (e *Export) Read(ctx context.Context, yield func(Exported) error) error {
	if e.From > e.To {
		return nil
	}
	var decoder events.Decoder
	var before events.Hash
	err := e.service.Log.Read(ctx, e.From, e.To, func(m events.Message) error {
		line := Exported{Message: m, Digest: events.BodyHash(m.Body)}
		switch event, err := decoder.Decode(m.Body); {
		case err == nil:
			line.PrevHash, line.Hash = event.PrevHash, events.Next(event.PrevHash, line.Digest)
			if line.Withheld = e.project != "" && event.Project != e.project; !line.Withheld {
				e.names(event.Data)
			}
		case e.project != "": // nobody knows whose it is
			line.PrevHash, line.Hash, line.Withheld = before, events.Next(before, line.Digest), true
		}
		before = line.Hash
		return yield(line)
	})
	if err != nil {
		return e.service.DamageProblem(ctx, exportRefused, err)
	}
	return nil
}

// names notes the long texts that an event names.
func (e *Export) names(data events.Data) {
	if !e.texts {
		return
	}
	for _, d := range events.Digests(data) {
		if !e.named[d.Digest] {
			e.named[d.Digest] = true
			e.digests = append(e.digests, d.Digest)
		}
	}
}

// ExportedText is a long text of an export: its content, or why the server has lost it.
type ExportedText struct {
	Digest  string
	Content []byte
	Lost    string
	// Redacted says that the text was redacted, which an event says that the export withholds.
	Redacted bool
}

// HasTexts reports whether the export has long texts after its messages.
func (e *Export) HasTexts() bool { return e.texts }

// ReadTexts yields the long texts that the messages named, in the order in which they named them. Read comes before it.
func (e *Export) ReadTexts(ctx context.Context, yield func(ExportedText) error) error {
	for _, digest := range e.digests {
		text := ExportedText{Digest: digest}
		switch r := e.service.Handler.Redaction(digest); {
		case r == nil:
		case r.Sequence > e.To:
			text.Lost = fmt.Sprintf("event %d removed it, after the end of this export", r.Sequence)
		case e.project == "": // its event says so
			continue
		default:
			text.Redacted = true
		}
		if text.Lost != "" || text.Redacted {
			if err := yield(text); err != nil {
				return err
			}
			continue
		}
		content, err := e.service.Blobs.Blob(ctx, digest)
		switch {
		case errors.Is(err, events.ErrNoBlob), errors.Is(err, events.ErrBadBlob):
			text.Lost = err.Error()
		case err != nil:
			return fmt.Errorf("read the long texts: %w", err)
		default:
			text.Content = content
		}
		if err := yield(text); err != nil {
			return err
		}
	}
	return nil
}
