// Package engine makes commands happen: the Handler is the one writer of the log. It permits and decides each command
// with package commands, appends what it becomes to the [Log], applies it to the projections' State and answers.
//
// It imports commands, projections and events. It touches no network, file or clock itself: it is given a Log, a clock
// and the few stores of [Config]. Start reading at [Handler.Do], then writer.go. Beside the writer: leases.go ends what
// was silent for too long, denials.go records refusals, await.go lets callers wait for a change, open.go reads the log
// at the start, and verify.go decides a finished log again.
//
// # The writer
//
// One goroutine writes. It is authoritative for nothing: the log is, and every append is guarded by the sequence that
// the decision was made on. Its states:
//
//	ready ──append──► committed ──► ready          the overlay becomes the state, all answers go out
//	  │                 conflict ──► catching up   somebody else wrote: sync, read to the head, decide again
//	  │                 unknown  ──► catching up   nothing is said until the log was synced and read
//	catching up ──head reached──► ready
//	catching up ──disk full─────► doubtful         commands get *UnavailableError; tried again every second
//	any ──damage────────────────► read-only        for good; views stay readable
package engine
