package service

import (
	"context"
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
}

// Export is a part of the log that a caller may read during the call.
type Export struct {
	service *Service
	project string
	// From and To are the first and the last sequence; From is after To if the export is empty.
	From, To uint64
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
	e := &Export{service: s, project: in.Project, From: 1}
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

func sequenceNamed(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, InvalidRequest("", name+" must be a sequence, not '"+safetext.Printable(text)+"'")
	}
	return n, nil
}

// Read yields the messages of the export in order. It also exports a message that cannot be parsed, as it is: an audit
// has to show it.
func (e *Export) Read(ctx context.Context, yield func(Exported) error) error {
	if e.From > e.To {
		return nil
	}
	var decoder events.Decoder
	err := e.service.Log.Read(ctx, e.From, e.To, func(m events.Message) error {
		line := Exported{Message: m, Digest: events.BodyHash(m.Body)}
		if event, err := decoder.Decode(m.Body); err == nil {
			line.PrevHash, line.Hash = event.PrevHash, events.Next(event.PrevHash, line.Digest)
			line.Withheld = e.project != "" && event.Project != e.project
		}
		return yield(line)
	})
	if err != nil {
		return e.service.DamageProblem(ctx, exportRefused, err)
	}
	return nil
}
