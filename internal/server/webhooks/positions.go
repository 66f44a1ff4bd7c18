package webhooks

import (
	"encoding/json"
	"slices"
	"time"

	"maestro/internal/syntax"
)

// position is what a webhook has got: every event that it wants up to Next, without Pending.
type position struct {
	// Next is the last event of the log that was examined.
	Next uint64 `json:"next"`
	// Started is when the webhook began or resumed to send to its URL. Failures before that do not count.
	Started int64 `json:"started"`
	// Pending are the events before it that were not sent yet, in order.
	Pending []uint64 `json:"pending,omitempty"`
	// Failing are the events that could not be sent so far.
	Failing []failing `json:"failing,omitempty"`
}

// failing is how often, and for how long a server of this home tried to send an event.
type failing struct {
	Sequence uint64        `json:"sequence"`
	Failures int           `json:"failures"`
	For      time.Duration `json:"for"`
}

// after returns the position without events up to a sequence, which the webhook skips, and without those after head,
// which the log lost: others take their sequences.
func (p position) after(skipped, head uint64) position {
	p.Next = max(min(p.Next, head), skipped)
	gone := func(sequence uint64) bool { return sequence <= skipped || sequence > head }
	p.Pending = slices.DeleteFunc(slices.Clone(p.Pending), gone)
	p.Failing = slices.DeleteFunc(slices.Clone(p.Failing), func(f failing) bool { return gone(f.Sequence) })
	return p
}

// upTo returns the event up to which the webhook has got everything.
func (p position) upTo() uint64 {
	if len(p.Pending) > 0 {
		return p.Pending[0] - 1
	}
	return p.Next
}

// Store keeps the positions of webhooks across restarts.
type Store interface {
	// Load returns what was saved last; nothing if this home never had any.
	Load() ([]byte, error)
	Save(content []byte) error
}

// saved is the content of a store.
type saved struct {
	Webhooks map[string]position `json:"webhooks"`
}

// load returns the positions of a home. known says that the home has them: an event of a webhook without one has never
// been sent. Without it, nobody knows which events were.
func load(store Store) (positions map[string]position, known bool, err error) {
	content, err := store.Load()
	var s saved
	if err == nil && len(content) > 0 {
		err = syntax.Plain(json.Unmarshal(content, &s))
		known = err == nil && s.Webhooks != nil
	}
	if s.Webhooks == nil || err != nil {
		s.Webhooks = map[string]position{}
	}
	return s.Webhooks, known, err
}

func save(store Store, positions map[string]position) error {
	content, err := json.Marshal(saved{positions})
	if err != nil {
		return err
	}
	return store.Save(content)
}
