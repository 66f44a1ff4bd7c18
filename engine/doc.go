// Package engine executes commands: the Handler is the only writer of the log. It permits and decides each command with
// package commands, appends the resulting event to the [Log], applies it to the projections' State and answers.
//
// It imports commands, projections and events. It uses no network, file or clock itself: its caller passes in a Log, a
// clock and the few stores of [Config]. Start reading at [Handler.Do], then writer.go. Beside the writer: leases.go
// handles sessions that were silent for too long, denials.go records refusals, await.go lets callers wait for a change,
// open.go reads the log at the start, and verify.go decides a finished log again.
//
// # The writer
//
// One goroutine writes. The log is authoritative, not the writer, and every append is guarded by the sequence on which
// the decision is based. The writer's states:
//
//	ready ──append──► committed ──► ready          the overlay becomes the state, all answers go out
//	  │                 conflict ──► catching up   somebody else wrote: sync, read to the head, decide again
//	  │                 unknown  ──► catching up   nothing is said until the log was synced and read
//	catching up ──head reached──► ready
//	catching up ──disk full─────► doubtful         commands get *UnavailableError; tried again every second
//	any ──damage────────────────► read-only        for good; views stay readable
package engine
