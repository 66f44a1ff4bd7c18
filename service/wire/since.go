package wire

import (
	"maestro/events"

	"maestro/projections"
)

// SinceQuery asks what changed.
type SinceQuery struct {
	From      string `query:"from" doc:"a sequence, or an RFC 3339 time; the beginning if absent"`
	ProjectID string `query:"projectId" doc:"only this project"`
}

// SinceListed is the maximum length of each list of [Since].
const SinceListed = 1000

// Since reports what changed, starting with what needs a person.
type Since struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Events int    `json:"events"`
	// Inbox is what needs a person, the longest wait first, at most [SinceListed] items. Things counts everything that
	// does, InboxMore the things that are in none of the items; New counts those that appeared since, in the items or
	// not.
	Inbox     []projections.InboxItem `json:"inbox"`
	InboxMore int                     `json:"inboxMore,omitempty"`
	Things    int                     `json:"things"`
	New       int                     `json:"new"`
	// Tasks, Sessions and Queues are those that changed, the latest change first: the first [SinceListed] of each. The
	// numbers beside them count the others.
	Tasks        []SinceThing `json:"tasks"`
	TasksMore    int          `json:"tasksMore,omitempty"`
	Sessions     []SinceThing `json:"sessions"`
	SessionsMore int          `json:"sessionsMore,omitempty"`
	Queues       []SinceThing `json:"queues"`
	QueuesMore   int          `json:"queuesMore,omitempty"`
	// Refused counts the refusals that were recorded since.
	Refused int `json:"refused"`
	// RefusedNext is the command that shows them; "" if the caller may not use it.
	RefusedNext string `json:"refusedNext,omitempty"`
}

// SinceThing is an object that events changed.
type SinceThing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Was and Is are the status of a task or a session before and now, Says the statements about a task.
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
	Says string `json:"says,omitempty"`
	// Events counts the object's events. Last describes the newest, without the id of the object.
	Events   int           `json:"events"`
	Last     string        `json:"last"`
	Sequence uint64        `json:"sequence"`
	At       events.Millis `json:"at"`
}
