package wire

import (
	"reflect"
	"strings"
)

// InboxFilter selects the things that need a person.
type InboxFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	SessionID string `query:"sessionId" flag:"session <sessionId>" doc:"of this session, without a limit"`
	Kind      string `query:"kind" flag:"kind question|blocked|failed|unconfirmed|quarantined|stuck|stranded|unattended|unstarted|exited|lost|late|refused|unread" doc:"of this kind"`
	Limit     string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
	Wait      string `query:"wait" doc:"if there is nothing, wait until there is, at most so long, such as 25s"`
	Sort      string `query:"sort" doc:"urgency: first what holds up a session, then other work; else by wait"`
}

// InboxCountFilter selects the things to count.
type InboxCountFilter struct {
	Kind   string `query:"kind" doc:"of this kind"`
	Except string `query:"except" doc:"not those of this project"`
}

// InboxCount says how many things need a person.
type InboxCount struct {
	Things int `json:"things"`
}

// Kinds returns the kinds that a filter may name.
func (InboxFilter) Kinds() []string {
	field, _ := reflect.TypeFor[InboxFilter]().FieldByName("Kind")
	_, kinds, _ := strings.Cut(field.Tag.Get("flag"), " ")
	return strings.Split(kinds, "|")
}
