// Package commands decides which changes are permitted. It holds the permission table and the decision logic of each
// command.
//
// It is pure, and imports events and projections. [Permit] says whether an actor may use a command; [Decide] returns
// the result of a command: one event, nothing, or a *[Refusal]. Package engine calls both, and appends the events.
// Start reading at [Command], then any file named after a noun, such as task.go; table.go is the permission table.
package commands
