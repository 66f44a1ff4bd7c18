package service

import (
	"context"

	"maestro/commands"
	"maestro/projections"
)

// Caller is who asks, as the credential says and nothing else.
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
	// BeginWait counts the call among those that wait, or refuses it; nil if nobody counts. Its interface fills it in.
	BeginWait func(ctx context.Context) error
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
func (c *Caller) SeesEnv(x *projections.Session) bool {
	return c.ReadsAll() || c.By.Kind == commands.ActorSession && c.By.Name == x.ID
}
