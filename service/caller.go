package service

import (
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Caller is the authenticated caller, with what its interface knows about the call. Each call has its own.
type Caller struct {
	By commands.Actor
	// Anonymous says that the caller showed no credential and needs none. A body may then name the session that calls.
	Anonymous bool
	// Ended says that the calling session had ended at the time of the call.
	Ended bool
	// NoLongerHolds says that the calling session held an item of a queue before the call, and holds none now.
	NoLongerHolds bool
	// Expires is when the credential expires, in milliseconds since 1970; 0 for never.
	Expires int64
	// LoginID is the login of the browser that calls; "" if the caller showed its token.
	LoginID string
	// Root is the root of a session's project. Projects share their root's limits.
	Root string
	// Mail is the calling session's unread mail: answers to its questions, and messages.
	Mail []string
	// Scheme and Host are the address at which the caller reaches the server. Its interface sets them.
	Scheme, Host string
	// Verb and Target are the request: "GET", "/api/tasks". Reads says that it is a read.
	Verb, Target string
	Reads        bool
	// Program says that the caller is not a page in a browser. Its interface sets it.
	Program bool
	// UnknownIsEmpty says that a filter for something unknown is no error, and selects nothing. Its interface sets it.
	UnknownIsEmpty bool
	// Meta accompanied the command.
	Meta Meta
	// Paged says that the caller takes lists in pages; a limit is then the length of a page. Its interface sets it.
	Paged bool
	// Page returns the requested part of a list; nil for the whole list. Its interface sets it.
	Page func() (PageOf, error)

	// asks is the query that it reads; "" until Ask.
	asks Query
	// parts counts the parts of its answer. turn says that it is making a part in its turn. See Service.Turn.
	parts int
	turn  bool
	// waited says that the calling session was permitted to wait, and did: a refusal then says how the wait ended.
	waited bool
	// delivered says that nobody waits for the answer. A kept command is sent again until it has one.
	delivered bool
	// past is the state that it reads; nil for the present one.
	past *engine.Past
	// first and last are the moments of the states that its read saw; looked says that it saw one.
	first, last uint64
	looked      bool
	// then is the time at which it reads the past state.
	then time.Time
	// admission is the call's use of its limits; nil until it is admitted.
	admission *Admission
}

// ServerURL is the address at which the caller reaches the server. Sessions that it spawns get the same address.
func (c *Caller) ServerURL() string { return c.Scheme + "://" + c.Host }

// Operation names the request, as recorded for a refused read: "GET /api/tasks".
func (c *Caller) Operation() string { return c.Verb + " " + safetext.Printable(c.Target) }

// ReadsAll reports whether the caller may read what belongs to no project.
func (c *Caller) ReadsAll() bool {
	return c.By.Kind == commands.ActorUser &&
		(c.By.Access == commands.AccessAdmin || c.By.Access == commands.AccessAuditor)
}

// SeesEnv reports whether the caller sees a session's environment, which may hold secrets. The user (with an admin's
// token or an auditor's, which reads the whole log), the session itself and its runner see it.
func (c *Caller) SeesEnv(x *projections.Session) bool { return c.seesEnvOf(x.ID) || speaks(c.By, x) }

// ReadsContext reports whether the caller reads the context that a session was spawned with, which is part of its
// manifest.
func (c *Caller) ReadsContext(x *projections.Session) bool { return c.mayShowManifest(x) == nil }

func (c *Caller) seesEnvOf(session string) bool {
	return c.ReadsAll() || c.By.Kind == commands.ActorSession && c.By.Name == session
}

// OtherIdentity refuses a call on behalf of a session, or of the user for "", that is not the caller.
func (c *Caller) OtherIdentity(session string) error {
	named := "the user"
	if session != "" {
		named = "session " + safetext.Printable(session)
	}
	return &Problem{
		Kind:    KindNotAllowed,
		Code:    string(commands.CodeNotAllowed),
		Message: "The request speaks for " + named + ", and its credential is that of " + c.By.String(),
		Why:     "the credential alone identifies the caller",
		Next:    "use the credential of " + named + ", or name nobody",
	}
}

// ReadTries is how often a read is tried until all parts of its answer are from one moment. Others write meanwhile.
const ReadTries = 5

// BeginRead forgets which states the caller saw: it begins to read.
func (c *Caller) BeginRead() { c.first, c.last, c.looked = 0, 0, false }

// saw notes that the caller reads the state after an event.
func (c *Caller) saw(sequence uint64) {
	if !c.looked {
		c.first, c.looked = sequence, true
	}
	c.last = sequence
}

// ReadUntil returns the sequence of the newest state that the caller saw since it began to read, and whether it saw
// several: its answer may mix them.
func (c *Caller) ReadUntil() (sequence uint64, several bool) {
	if c == nil { // a stranger reads nothing
		return 0, false
	}
	return c.last, c.first != c.last
}
