package service

import (
	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Caller is the authenticated caller, with what its interface knows of the call. Each call has its own.
type Caller struct {
	By commands.Actor
	// Anonymous says that the caller showed no credential and needs none; then a body may name the session that it is.
	Anonymous bool
	// Ended says that the calling session had ended when it called.
	Ended bool
	// Expires is when its credential does, in milliseconds since 1970; 0 for never.
	Expires int64
	// Root is the root of a session's project. Projects share their root's limits.
	Root string
	// Mail is the calling session's unread mail: answers to its questions, and messages.
	Mail []string
	// Scheme and Host are how the caller reaches the server. Its interface fills them in.
	Scheme, Host string
	// Verb and Target are what is asked for: "GET", "/api/tasks". Reads says that it is a read.
	Verb, Target string
	Reads        bool
	// Program says that it is no page in a browser. Its interface fills it in.
	Program bool
	// Meta accompanied the command.
	Meta Meta
	// Paged says that the caller takes lists in pages: then a limit is the length of a page. Its interface fills it in.
	Paged bool
	// Page says which part of a list is asked for; nil for all of it. Its interface fills it in.
	Page func() (PageOf, error)

	// asks is what it reads; "" until it asked.
	asks Query
	// parts counts the parts of its answer; turn says that it makes one in its turn. See Service.Turn.
	parts int
	turn  bool
	// delivered says that nobody waits for the answer. A kept command is sent again until it has one.
	delivered bool
	// admission is what the call holds of its limits; nil until it is admitted.
	admission *Admission
}

// ServerURL is the address at which the caller reaches the server. Sessions that it spawns get the same one.
func (c *Caller) ServerURL() string { return c.Scheme + "://" + c.Host }

// Operation names the request, as recorded for a refused read: "GET /api/tasks".
func (c *Caller) Operation() string { return c.Verb + " " + safetext.Printable(c.Target) }

// ReadsAll reports whether the caller may read what belongs to no project.
func (c *Caller) ReadsAll() bool {
	return c.By.Kind == commands.ActorUser &&
		(c.By.Access == commands.AccessAdmin || c.By.Access == commands.AccessAuditor)
}

// SeesEnv reports whether the caller sees a session's environment, which may hold secrets: the user (an admin's token
// or an auditor's, who reads the whole log), and the session itself.
func (c *Caller) SeesEnv(x *projections.Session) bool { return c.seesEnvOf(x.ID) }

func (c *Caller) seesEnvOf(session string) bool {
	return c.ReadsAll() || c.By.Kind == commands.ActorSession && c.By.Name == session
}

// OtherIdentity refuses a call that speaks for a session, or "" for the user, that is not its caller.
func (c *Caller) OtherIdentity(session string) error {
	named := "the user"
	if session != "" {
		named = "session " + safetext.Printable(session)
	}
	return &Problem{
		Kind:    KindNotAllowed,
		Code:    string(commands.CodeNotAllowed),
		Message: "The body speaks for " + named + ", and the credential is that of " + c.By.String(),
		Why:     "who acts is known from the credential alone",
		Next:    "use the credential of " + named + ", or leave updateSource and sessionId out",
	}
}
