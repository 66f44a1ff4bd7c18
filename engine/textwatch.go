package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"maestro/events"
)

// textLook is how often lost texts are looked for again. A lost text returns when somebody submits the same text again.
const textLook = 10 * time.Minute

// TextWatch compares every long text to which the log refers with its digest, once after the start, and reports those
// that are lost.
type TextWatch struct {
	Log   Log
	Texts Texts
	// Redacted reports whether a text was redacted since; nil if none can be.
	Redacted func(digest string) bool
	// Head returns the log's head.
	Head func() events.Head
	// After is the timer.
	After  func(time.Duration) <-chan time.Time
	Logger *slog.Logger

	mu   sync.Mutex
	lost []LostText
}

// Lost returns the texts that were lost at the last check.
func (w *TextWatch) Lost() []LostText {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Run checks until no text is lost, the log is damaged, or ctx ends.
func (w *TextWatch) Run(ctx context.Context) {
	var named []NamedText
	whole := false
	for {
		err := w.look(ctx, &named, &whole)
		if errors.Is(err, events.ErrReadOnly) || err == nil && len(w.Lost()) == 0 {
			return // a damaged log is reported elsewhere
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.Warn("the long texts could not be checked; it is tried again", "why", err)
		}
		select {
		case <-w.After(textLook):
		case <-ctx.Done():
			return
		}
	}
}

// look checks all texts the first time, and afterwards only those that were lost.
func (w *TextWatch) look(ctx context.Context, named *[]NamedText, whole *bool) (err error) {
	if !*whole {
		if *named, err = NamedTexts(ctx, w.Log, w.Head().Sequence); err != nil {
			return err
		}
		*whole = true
	}
	lost, err := LostTexts(ctx, w.Texts, *named)
	if err != nil {
		return err
	}
	if w.Redacted != nil {
		lost = slices.DeleteFunc(lost, func(text LostText) bool { return w.Redacted(text.Digest) })
	}
	*named = (*named)[:0]
	for _, text := range lost {
		*named = append(*named, text.NamedText)
	}
	w.mu.Lock()
	news := len(lost) != len(w.lost)
	w.lost = lost
	w.mu.Unlock()
	if news && len(lost) > 0 {
		w.Logger.Error("long texts that the log names are lost", "count", len(lost), "first", lost[0].String(),
			"next", FaultText.Next())
	}
	return nil
}
