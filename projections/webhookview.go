package projections

import "maestro/events"

// WebhookView shows a webhook as the log has it, without its secret.
type WebhookView struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	URL        string        `json:"url"`
	ProjectID  string        `json:"projectId"`
	Types      []string      `json:"types"`
	Generation int           `json:"generation"`
	CreatedAt  events.Millis `json:"createdAt"`
	CreatedBy  string        `json:"createdBy"`
	// After is the event after which it gets events: the one that created it, or with which it skipped others.
	After uint64 `json:"after"`
	// Parked is null while it sends.
	Parked *ParkedView `json:"parked"`
}

// ParkedView shows why and since when a webhook sends nothing.
type ParkedView struct {
	At       events.Millis     `json:"at"`
	Why      events.ParkReason `json:"why"`
	Failures int               `json:"failures"`
	Problem  string            `json:"problem"`
}

// View shows the webhook.
func (x *Webhook) View() WebhookView {
	view := WebhookView{
		ID:         x.ID,
		Name:       x.Name,
		URL:        x.URL,
		ProjectID:  x.ProjectID,
		Types:      list(x.Types),
		Generation: x.Generation,
		CreatedAt:  events.Millis(x.CreatedAt),
		CreatedBy:  x.CreatedBy,
		After:      x.After,
	}
	if p := x.Parked; p != nil {
		view.Parked = &ParkedView{
			At:       events.Millis(p.At),
			Why:      p.Why,
			Failures: p.Failures,
			Problem:  p.Problem,
		}
	}
	return view
}
