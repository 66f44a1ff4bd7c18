package events

import (
	"fmt"
	"strings"
)

// ParkReason is why a webhook gets no events until somebody resumes it.
type ParkReason string

// The reasons for parking a webhook.
const (
	// ParkFailing: the receiver did not accept an event for as long as the server is patient.
	ParkFailing ParkReason = "failing"
	// ParkGone: the receiver answered 410 Gone.
	ParkGone ParkReason = "gone"
	// ParkUnknown: the home does not know which events the webhook already got, because it was restored or copied.
	ParkUnknown ParkReason = "position unknown"
)

// WebhookCreated: events are sent to a receiver from now on. The secret that signs them is derived from the server's
// key and is not stored.
type WebhookCreated struct {
	WebhookID  string   `json:"webhookId" doc:"the new webhook"`
	Name       string   `json:"name,omitempty" doc:"as people call it"`
	URL        string   `json:"url" doc:"where the events are sent"`
	ProjectID  string   `json:"projectId,omitempty" doc:"only events of this project are sent; all if absent"`
	Types      []string `json:"types,omitempty" doc:"only these types are sent, such as task.created, or a noun, such as task; all if absent"`
	Generation int      `json:"generation" doc:"which of its secrets signs"`
}

// WebhookUpdated: the fields that are present have new values.
type WebhookUpdated struct {
	WebhookID  string    `json:"webhookId" doc:"the webhook"`
	Name       *string   `json:"name,omitempty" doc:"new name"`
	URL        *string   `json:"url,omitempty" doc:"where the events are sent from now on"`
	Types      *[]string `json:"types,omitempty" doc:"the types that are sent from now on; all if the list is empty"`
	Generation int       `json:"generation,omitempty" doc:"which secret signs from now on, if there is a new one"`
}

// WebhookDeleted: nothing is sent to the receiver any more.
type WebhookDeleted struct {
	WebhookID string `json:"webhookId" doc:"the webhook"`
}

// WebhookParked: the receiver gets nothing until somebody resumes the webhook. No event is lost meanwhile.
type WebhookParked struct {
	WebhookID  string     `json:"webhookId" doc:"the webhook"`
	Why        ParkReason `json:"why" doc:"failing, gone or position unknown"`
	Failures   int        `json:"failures,omitempty" doc:"how often sending failed since it last succeeded"`
	FailingFor int64      `json:"failingFor,omitempty" doc:"how long it had failed, in milliseconds, without the time in which no server ran"`
	Patience   int64      `json:"patience,omitempty" doc:"how long it may fail, in milliseconds"`
	Problem    string     `json:"problem,omitempty" doc:"what was wrong last"`
}

// WebhookResumed: the receiver gets events again.
type WebhookResumed struct {
	WebhookID string `json:"webhookId" doc:"the webhook"`
	Skipped   bool   `json:"skipped,omitempty" doc:"it gets only events after this one; otherwise all that it has not got"`
}

var webhookEvents = []Entry{
	entry[WebhookCreated]("Events are sent to a receiver from now on."),
	entry[WebhookUpdated]("Fields of a webhook have new values."),
	entry[WebhookDeleted]("Nothing is sent to a webhook's receiver any more."),
	entry[WebhookParked]("A webhook's receiver gets nothing until somebody resumes it."),
	entry[WebhookResumed]("A webhook's receiver gets events again."),
}

// EventType implements Data.
func (*WebhookCreated) EventType() string { return "maestro.webhook.created.v1" }

// EventType implements Data.
func (*WebhookUpdated) EventType() string { return "maestro.webhook.updated.v1" }

// EventType implements Data.
func (*WebhookDeleted) EventType() string { return "maestro.webhook.deleted.v1" }

// EventType implements Data.
func (*WebhookParked) EventType() string { return "maestro.webhook.parked.v1" }

// EventType implements Data.
func (*WebhookResumed) EventType() string { return "maestro.webhook.resumed.v1" }

// Aggregate implements Data.
func (d *WebhookCreated) Aggregate() (kind, id string) { return AggregateWebhook, d.WebhookID }

// Aggregate implements Data.
func (d *WebhookUpdated) Aggregate() (kind, id string) { return AggregateWebhook, d.WebhookID }

// Aggregate implements Data.
func (d *WebhookDeleted) Aggregate() (kind, id string) { return AggregateWebhook, d.WebhookID }

// Aggregate implements Data.
func (d *WebhookParked) Aggregate() (kind, id string) { return AggregateWebhook, d.WebhookID }

// Aggregate implements Data.
func (d *WebhookResumed) Aggregate() (kind, id string) { return AggregateWebhook, d.WebhookID }

// Describe implements Data.
func (d *WebhookCreated) Describe() Description {
	return describe("created", "create", text(" webhook "+d.WebhookID), text(" to "+d.URL))
}

// Describe implements Data.
func (d *WebhookUpdated) Describe() Description {
	to := ""
	if d.URL != nil {
		to = *d.URL
	}
	return describe("updated", "update", text(" webhook "+d.WebhookID), prefixed(", which now sends to ", to),
		when(d.Generation > 0, ", which has a new secret"))
}

// Describe implements Data.
func (d *WebhookDeleted) Describe() Description {
	return describe("deleted", "delete", text(" webhook "+d.WebhookID))
}

// Describe implements Data.
func (d *WebhookParked) Describe() Description {
	why := ": sending failed " + fmt.Sprint(d.Failures) + " times in a row"
	switch d.Why {
	case ParkFailing:
	case ParkGone:
		why = ": its receiver says that it is gone for good"
	case ParkUnknown:
		why = ": this home does not know which events it got"
	}
	return describe("parked", "park", text(" webhook "+d.WebhookID), text(why))
}

// Describe implements Data.
func (d *WebhookResumed) Describe() Description {
	return describe("resumed", "resume", text(" webhook "+d.WebhookID),
		when(d.Skipped, ", and skipped the events until then"))
}

func (*WebhookCreated) sealed() {}
func (*WebhookUpdated) sealed() {}
func (*WebhookDeleted) sealed() {}
func (*WebhookParked) sealed()  {}
func (*WebhookResumed) sealed() {}

// ShortType returns the name of a type of event without the parts that all have in common: "task.created" for
// "maestro.task.created.v1".
func ShortType(eventType string) string {
	name := strings.TrimPrefix(eventType, "maestro.")
	if at := strings.LastIndex(name, ".v"); at > 0 {
		name = name[:at]
	}
	return name
}

// KnownShortType reports whether events have a type with this short name, or with this noun.
func KnownShortType(name string) bool {
	for i := range catalogue {
		short := ShortType(catalogue[i].Type)
		if noun, _, _ := strings.Cut(short, "."); name == short || name == noun {
			return true
		}
	}
	return false
}
