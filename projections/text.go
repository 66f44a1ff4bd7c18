package projections

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"maestro/events"
)

// Redaction says that a long text was removed for good. Immutable.
type Redaction struct {
	// Text is its digest.
	Text   string
	Reason string
	// By is the source of the event, At its time in milliseconds since 1970.
	By       string
	At       int64
	Sequence uint64
}

// RedactionView shows who removed a long text, when and why. It stands beside the beginning of the text that is kept.
type RedactionView struct {
	By     string        `json:"by"`
	At     events.Millis `json:"at"`
	Reason string        `json:"reason"`
	// Sequence is the event that records it.
	Sequence uint64 `json:"sequence"`
}

// View shows the redaction; nil for none.
func (r *Redaction) View() *RedactionView {
	if r == nil {
		return nil
	}
	return &RedactionView{r.By, events.Millis(r.At), r.Reason, r.Sequence}
}

// RedactionView shows the redaction of a text; nil if it was not redacted, and for "".
func (s *State) RedactionView(digest string) *RedactionView {
	if digest == "" || !s.HasRedactions() { // true for nearly every log
		return nil
	}
	return s.Redaction(digest).View()
}

// RedactionViews shows the redactions among the long texts of an object, by field; nil if there are none.
func (s *State) RedactionViews(texts events.Blobs) (redacted map[string]RedactionView) {
	for field, digest := range texts {
		if r := s.RedactionView(digest); r != nil {
			if redacted == nil {
				redacted = map[string]RedactionView{}
			}
			redacted[field] = *r
		}
	}
	return redacted
}

// Redaction returns the redaction of a text by its digest, or nil.
func (s *State) Redaction(digest string) *Redaction { return s.redactions.get(digest) }

// Redactions returns the redactions of a committed state, in the order of their events.
func (s *State) Redactions() []*Redaction {
	return slices.SortedFunc(maps.Values(s.redactions.rows), func(a, b *Redaction) int {
		return cmp.Compare(a.Sequence, b.Sequence)
	})
}

// HasRedactions reports whether any text was redacted.
func (s *State) HasRedactions() bool { return s.redacted > 0 }

func (s *State) textRedacted(f fact, d *events.TextRedacted) error {
	if s.Redaction(d.Text) != nil {
		return exists("redaction of", d.Text)
	}
	s.redacted++
	s.redactions.put(d.Text, &Redaction{
		Text:     d.Text,
		Reason:   d.Reason,
		By:       f.Source,
		At:       f.at,
		Sequence: f.sequence,
	})
	s.shownRedacted(d.Text)
	return nil
}

// shownRedacted notes the objects whose views show that a text was redacted as changed, although nothing in them
// changed.
func (s *State) shownRedacted(digest string) {
	refs := s.BlobRefs(digest)
	s.work(uint64(len(refs)))
	noted := map[BlobRef]bool{}
	same := func(kind Kind, id string, object any) {
		if ref := (BlobRef{kind, id}); !noted[ref] {
			noted[ref] = true
			s.changes = append(s.changes, Change{kind, id, object, object})
		}
	}
	for _, ref := range refs {
		switch ref.Kind { //nolint:exhaustive // the others name no text
		case KindProject:
			if p := s.Project(ref.ID); p != nil {
				same(KindProject, ref.ID, p)
			}
		case KindTask, KindTaskTimeline:
			if t := s.Task(ref.ID); t != nil {
				same(KindTask, ref.ID, t)
			}
		case KindSession:
			if x := s.Session(ref.ID); x != nil && x.ManifestDigest == digest {
				same(KindSession, ref.ID, x)
			}
		case KindSessionTimeline:
			asked := s.inputIDs.get(s.SessionProject(ref.ID))
			s.work(uint64(len(asked)))
			for _, id := range asked {
				if x := s.Input(id); x.Blob == digest {
					same(KindInput, id, x)
				}
			}
		}
	}
}

func (s *State) restoreTexts(h *header) error {
	for _, r := range h.Redactions {
		if r == nil {
			return errors.New("a redaction is missing")
		}
		s.redactions.put(r.Text, r)
		s.redacted++
	}
	for _, o := range h.Origins {
		if o == nil {
			return errors.New("the addresses of a token are missing")
		}
		s.origins.put(o.Name, o)
	}
	return nil
}
