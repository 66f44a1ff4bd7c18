package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"maestro/events"
)

// Texts returns long texts by digest. It fails with events.ErrNoBlob or events.ErrBadBlob when a text is lost; after
// any other error it is unknown whether the text is lost.
type Texts interface {
	Blob(ctx context.Context, digest string) ([]byte, error)
}

// LostText is a long text to which the log refers and that is missing or damaged.
type LostText struct {
	NamedText
	Why string `json:"why"`
}

func (l LostText) String() string {
	return fmt.Sprintf("event %d: its %s, %s, is lost: %s", l.Sequence, l.Field, l.Digest, l.Why)
}

// NamedTexts lists the long texts to which the log refers up to a sequence, in the order of the first references.
func NamedTexts(ctx context.Context, log Log, to uint64) ([]NamedText, error) {
	if to == 0 {
		return nil, nil
	}
	var named textsNamed
	var decoder events.Decoder
	err := log.Read(ctx, 1, to, func(m events.Message) error {
		if !events.MayNameDigest(m.Body) {
			return nil
		}
		event, err := decoder.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		named.add(m.Sequence, event.Data)
		return nil
	})
	return named.list, err
}

// LostTexts returns the texts of named that are missing or damaged. An error means that the texts cannot be read now.
func LostTexts(ctx context.Context, texts Texts, named []NamedText) ([]LostText, error) {
	lost := []LostText{}
	for _, text := range named {
		_, err := texts.Blob(ctx, text.Digest)
		switch {
		case err == nil:
		case errors.Is(err, events.ErrNoBlob), errors.Is(err, events.ErrBadBlob):
			lost = append(lost, LostText{text, err.Error()})
		default:
			return nil, fmt.Errorf("check the long texts: %w", err)
		}
	}
	return lost, nil
}

// Texts lists the long texts to which the events so far refer.
func (v *Verifier) Texts() []NamedText { return v.texts.list }

// NamesText reports whether an event so far refers to a text that was not redacted.
func (v *Verifier) NamesText(digest string) bool { return v.texts.seen[digest] }

// Redacted reports whether an event so far says that a text was redacted.
func (v *Verifier) Redacted(digest string) bool { return v.texts.redacted[digest] }

// NoteTexts notes the long texts of an event that cannot be judged, because the state before it is unknown.
func (v *Verifier) NoteTexts(sequence uint64, data events.Data) { v.texts.add(sequence, data) }

// LoseTexts records as faults the texts that are named and not kept. why says of some why they are lost; the others are
// lost for the reason otherwise.
func (v *Verifier) LoseTexts(kept map[string]bool, why map[string]string, otherwise string) {
	v.verdict.TextsChecked = true
	for _, named := range v.texts.list {
		if !kept[named.Digest] {
			v.LoseText(LostText{named, cmp.Or(why[named.Digest], otherwise)})
		}
	}
}

// LoseText records that a long text is lost.
func (v *Verifier) LoseText(lost LostText) {
	v.Fault(lost.Sequence, FaultText, "its %s, %s, is lost: %s", lost.Field, lost.Digest, lost.Why)
}

// CheckTexts compares every long text to which the events refer with its digest.
func (v *Verifier) CheckTexts(ctx context.Context, texts Texts) error {
	lost, err := LostTexts(ctx, texts, v.texts.list)
	if err != nil {
		return err
	}
	v.verdict.TextsChecked = true
	for _, text := range lost {
		v.LoseText(text)
	}
	return nil
}
