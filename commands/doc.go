// Package commands says what may happen: the permission table, and the decision of each command.
//
// It is pure, and imports events and projections. [Permit] answers whether an actor may use a command; [Decide] answers
// what a command would do: one event, nothing, or a *[Refusal]. Package engine asks both, and appends what they allow.
// Start reading at [Command], then any file of a noun, such as task.go; table.go is the permission table.
package commands
