package wire

import (
	"maestro/projections"
)

// SinceQuery asks what changed.
type SinceQuery struct {
	From      string `query:"from" doc:"a sequence, or an RFC 3339 time; the beginning if absent"`
	ProjectID string `query:"projectId" doc:"only this project"`
}

// Since tells what changed, by what needs a person.
type Since struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Events int    `json:"events"`
	// Inbox is all that needs a person; New of it came up since.
	Inbox []projections.InboxItem `json:"inbox"`
	New   int                     `json:"new"`
	// Tasks, Sessions and Queues are those that something happened to, what happened last first.
	Tasks    []SinceThing `json:"tasks"`
	Sessions []SinceThing `json:"sessions"`
	Queues   []SinceThing `json:"queues"`
	// Refused counts the refusals that were recorded since.
	Refused int `json:"refused"`
}

// SinceThing is something that events happened to.
type SinceThing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Was and Is are where a task or a session stood and stands, Says what is said of a task.
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
	Says string `json:"says,omitempty"`
	// Events counts what happened to it, Last is the newest in words.
	Events   int    `json:"events"`
	Last     string `json:"last"`
	Sequence uint64 `json:"sequence"`
	At       int64  `json:"at"`
}
