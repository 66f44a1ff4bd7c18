// Package commands says what may happen: the permission table, the decision of each command, and the Handler, which is the
// one writer of the log.
//
// It is pure but for the Handler, which is given a Log and a clock and touches nothing else. It imports events and
// projections.
//
// One way round: a command arrives at [Handler.Do]; [Permit] answers whether this actor may do this; the command's Decide
// answers what would happen (one event, nothing, or a *[Refusal]); the Handler appends the event to the [Log], applies it to
// the State and answers. Start reading at [Command], then any file of a noun, such as task.go; table.go is the permission
// table; handler.go is the writer.
//
// # The writer
//
// One goroutine writes. It is authoritative for nothing: the log is, and every append is guarded by the sequence that the
// decision was made on. Its states:
//
//	ready ──append──► committed ──► ready          the overlay becomes the state, all answers go out
//	  │                 conflict ──► catching up   somebody else wrote: sync, read to the head, decide again
//	  │                 unknown  ──► catching up   nothing is said until the log was synced and read
//	catching up ──head reached──► ready
//	catching up ──disk full─────► doubtful         commands get *UnavailableError; tried again every second
//	any ──damage────────────────► read-only        for good; views stay readable
package commands
