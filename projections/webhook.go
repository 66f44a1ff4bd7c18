package projections

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"maestro/events"
)

// Webhook is the state of a webhook, as the log has it: what its receiver got already is not in the log. Times are
// milliseconds since 1970. Immutable.
type Webhook struct {
	ID   string
	Name string `json:",omitempty"`
	URL  string
	// ProjectID is the project whose events it gets; "" for all events.
	ProjectID string `json:",omitempty"`
	// Types are the short names of the types that it gets, or nouns; nil for all.
	Types []string `json:",omitempty"`
	// Generation is that of its secret.
	Generation int
	CreatedAt  int64
	CreatedBy  string
	// After is the event after which it gets events: the one that created it, or with which it skipped others.
	After uint64
	// Changed is the newest event about it. StartedAt is when it began or resumed to send, or changed its URL.
	Changed   uint64
	StartedAt int64
	// Began is the event with which it did.
	Began Cause
	// Parked says why it sends nothing; nil while it sends.
	Parked  *Parked `json:",omitempty"`
	Deleted bool    `json:",omitempty"`
}

// Parked is why and since when a webhook sends nothing.
type Parked struct {
	At       int64
	Why      events.ParkReason
	Failures int    `json:",omitempty"`
	Problem  string `json:",omitempty"`
}

// Wants reports whether the webhook gets an event.
func (x *Webhook) Wants(e *events.Event) bool {
	if x.ProjectID != "" && e.Project != x.ProjectID {
		return false
	}
	short := events.ShortType(e.Data.EventType())
	noun, _, _ := strings.Cut(short, ".")
	return len(x.Types) == 0 || slices.Contains(x.Types, short) || slices.Contains(x.Types, noun)
}

// Webhook returns a webhook that was not deleted, or nil.
func (s *State) Webhook(id string) *Webhook {
	if x := s.webhooks.get(id); x != nil && !x.Deleted {
		return x
	}
	return nil
}

// WebhookEver reports whether there is or was a webhook with this id in the log.
func (s *State) WebhookEver(id string) bool { return s.webhooks.get(id) != nil }

// WebhookIDs returns the ids of all webhooks in order of creation, including deleted ones. The list does not change.
func (s *State) WebhookIDs() []string { return s.webhookIDs }

// Webhooks returns the webhooks that were not deleted, in order of creation.
func (s *State) Webhooks() iter.Seq[*Webhook] {
	return func(yield func(*Webhook) bool) {
		for _, id := range s.webhookIDs {
			if x := s.Webhook(id); x != nil && !yield(x) {
				return
			}
		}
	}
}

func (s *State) putWebhook(after *Webhook) {
	before := s.webhooks.get(after.ID)
	if before == nil {
		s.webhookIDs = append(s.webhookIDs, after.ID)
	}
	s.changes = append(s.changes, Change{KindWebhook, after.ID, before, after})
	s.webhooks.put(after.ID, after)
}

func (s *State) webhookCreated(f fact, d *events.WebhookCreated) error {
	if s.WebhookEver(d.WebhookID) {
		return exists("webhook", d.WebhookID)
	}
	s.putWebhook(&Webhook{
		ID:         d.WebhookID,
		Name:       d.Name,
		URL:        d.URL,
		ProjectID:  d.ProjectID,
		Types:      d.Types,
		Generation: d.Generation,
		CreatedAt:  f.at,
		CreatedBy:  f.Source,
		After:      f.sequence,
		Changed:    f.sequence,
		StartedAt:  f.at,
		Began:      f.cause(),
	})
	return nil
}

// changeWebhook replaces a webhook by a changed copy.
func (s *State) changeWebhook(f fact, id string, change func(*Webhook)) error {
	before := s.Webhook(id)
	if before == nil {
		return missing("webhook", id)
	}
	after := *before
	after.Changed = f.sequence
	change(&after)
	s.putWebhook(&after)
	return nil
}

func (s *State) webhookUpdated(f fact, d *events.WebhookUpdated) error {
	return s.changeWebhook(f, d.WebhookID, func(x *Webhook) {
		set(&x.Name, d.Name)
		if d.Types != nil {
			x.Types = slices.Clip(*d.Types)
			if len(x.Types) == 0 {
				x.Types = nil // as if it never had any
			}
		}
		if d.URL != nil {
			x.URL, x.StartedAt, x.Began = *d.URL, f.at, f.cause()
		}
		if d.Generation > 0 {
			x.Generation = d.Generation
		}
	})
}

func (s *State) webhookDeleted(f fact, d *events.WebhookDeleted) error {
	return s.changeWebhook(f, d.WebhookID, func(x *Webhook) { x.Deleted = true })
}

func (s *State) webhookParked(f fact, d *events.WebhookParked) error {
	return s.changeWebhook(f, d.WebhookID, func(x *Webhook) {
		x.Parked = &Parked{
			At:       f.at,
			Why:      d.Why,
			Failures: d.Failures,
			Problem:  d.Problem,
		}
	})
}

func (s *State) webhookResumed(f fact, d *events.WebhookResumed) error {
	return s.changeWebhook(f, d.WebhookID, func(x *Webhook) {
		x.Parked, x.StartedAt, x.Began = nil, f.at, f.cause()
		if d.Skipped {
			x.After = f.sequence
		}
	})
}

// restoreWebhooks restores the webhooks of an encoded state.
func (s *State) restoreWebhooks(h *header) error {
	for _, x := range h.Webhooks {
		if x == nil {
			return errors.New("a webhook is missing")
		}
		s.webhooks.put(x.ID, x)
		s.webhookIDs = append(s.webhookIDs, x.ID)
	}
	return nil
}
