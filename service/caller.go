package service

import (
	"context"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Allowance bounds what one call may use. An interface gives each call its own.
type Allowance interface {
	// BeginWait counts the call among those that wait, or refuses it with a Problem.
	BeginWait(ctx context.Context) error
	// Within holds a command against the quotas and pays for what it makes, or refuses it with a Problem.
	Within(ctx context.Context, request engine.Request, dryRun bool) error
	// Upload pays for bytes that are kept though no event names them yet, or refuses them with a Problem.
	Upload(ctx context.Context, bytes int) error
	// Unused gives back what Within took if nothing was made.
	Unused(answer engine.Answer, err error)
	// Worked charges for work that was done: steps of deciding, folding or reading, whatever they came to. It must not
	// block, and is called after the call has ended if its caller left early.
	Worked(steps int)
}

// unbounded is the allowance of a call that nobody bounds.
type unbounded struct{}

func (unbounded) BeginWait(context.Context) error                    { return nil }
func (unbounded) Within(context.Context, engine.Request, bool) error { return nil }
func (unbounded) Upload(context.Context, int) error                  { return nil }
func (unbounded) Unused(engine.Answer, error)                        {}
func (unbounded) Worked(int)                                         {}

func (c *Caller) allowance() Allowance {
	if c.Allowance == nil {
		return unbounded{}
	}
	return c.Allowance
}

// Caller is who asks, as the credential says, with what its interface knows of the call. Each call has its own.
type Caller struct {
	By commands.Actor
	// Anonymous says that the caller showed no credential and needs none; then a body may name the session that it is.
	Anonymous bool
	// Ended says that the calling session had ended when it called.
	Ended bool
	// Expires is when its credential does, in milliseconds since 1970; 0 for never.
	Expires int64
	// Root is the root of a session's project: what is shared among projects is shared by their roots.
	Root string
	// Answers are the calling session's questions whose answers it was not yet shown.
	Answers []string
	// ServerURL is how the caller reaches the server: what sessions are told that it spawns. Its interface fills it in.
	ServerURL string
	// Operation names what is asked for, as a refused read is recorded: "GET /api/tasks". Reads says that it is a read.
	Operation string
	Reads     bool
	// Meta is what came with the command.
	Meta Meta
	// Allowance bounds what the call may use; nil for no bounds.
	Allowance Allowance
	// Paged says that the caller takes lists in pages: then a limit is the length of a page. Its interface fills it in.
	Paged bool
}

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
