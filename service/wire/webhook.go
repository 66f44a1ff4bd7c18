package wire

import (
	"maestro/events"
	"maestro/projections"
)

// WebhookID names a webhook.
type WebhookID struct {
	ID string `path:"id" doc:"the webhook"`
}

// Webhook is a webhook, with how far its receiver is.
type Webhook struct {
	projections.WebhookView
	// Delivery is null if this server does not send, or has not begun to.
	Delivery *Delivery `json:"delivery"`
}

// Delivery is how far a webhook's receiver is. It is not in the log: counts and times begin with the server's start, or
// with the last change of the webhook.
type Delivery struct {
	// UpTo is the event up to which it has got everything that it wants; Behind is how many events the log has after
	// it. Pending counts those of them that were found to be for it, and is null while it is parked: nobody looks.
	UpTo    uint64 `json:"upTo"`
	Behind  uint64 `json:"behind"`
	Pending *int   `json:"pending"`
	// Accepted counts the events that it accepted.
	Accepted   uint64         `json:"accepted"`
	AcceptedAt *events.Millis `json:"acceptedAt"`
	// TriedAt is when an event was last sent, or failed; LastStatus is the answer's status, 0 if there was none, and
	// Problem what was wrong, "" if nothing.
	TriedAt    *events.Millis `json:"triedAt"`
	LastStatus int            `json:"lastStatus"`
	Problem    string         `json:"problem"`
	// Failures counts the failures since sending last succeeded, or those of the subject that fails most.
	Failures     int            `json:"failures"`
	FailingSince *events.Millis `json:"failingSince"`
	NextTryAt    *events.Millis `json:"nextTryAt"`
}

// The problem of a webhook to whose address nothing is sent ends with UnlessAllowed, and AllowNext is the way out.
const (
	UnlessAllowed = "unless the operator allows it"
	AllowNext     = "if the operator trusts it, start the server with --allow-webhooks-to and its network, such as " +
		"10.1.0.0/16"
)

// WebhookSecret is the secret with which a webhook's messages are signed.
type WebhookSecret struct {
	Secret     string `json:"secret"`
	Generation int    `json:"generation"`
}

// WebhookTest is how sending a test message ended.
type WebhookTest struct {
	// ID is the webhook-id of the message.
	ID       string `json:"id"`
	Accepted bool   `json:"accepted"`
	// Status is the answer's status, 0 if there was none. Problem is what was wrong.
	Status  int    `json:"status"`
	Problem string `json:"problem"`
	// Took is in milliseconds.
	Took int64 `json:"took"`
}
