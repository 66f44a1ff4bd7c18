// Package bus stores the log: a JetStream stream, in a nats-server inside this process or in a NATS cluster.
//
// # Who is authoritative
//
// The stream is. A [Bus] has no authoritative state of its own: it only caches the last answer, and relies on it when
// that is safe. One caller appends at a time; the guard on every append (the sequence it expects) makes a second writer
// harmless, and a refused append is a normal outcome, not an error of the log.
//
// # States of the embedded log
//
//		            Append acked                     Append: ErrUnknown
//		          ┌──────────────┐                 ┌────────────────────┐
//		          ▼              │                 ▼                    │
//		open ─► firm ────────────┴────────────► doubtful ──► Sync ──► reopened
//		          │                                              │
//		          └── Sync: answers the head                     └─ no room: ErrFull, still doubtful, reads go on
//
//	  - firm: everything up to the head was acknowledged to this Bus, or was synced by a reopen. Under Always it is on
//	    disk; under Interval, Sync puts it there.
//	  - doubtful: an append got no answer, or somebody else wrote. The server may show messages that are not on disk,
//	    so only a reopen can tell: stop the server, fsync every file, start it, ask for the head.
//
// # What happens on each failure
//
//   - kill -9: acknowledged events are in the files. The first part of an append that was not acknowledged may be too.
//   - a power cut: any part of what was not synced may be left. Under Always that is one append, whose messages name
//     it; the next start truncates it at its first lost message.
//   - a sync fails: ErrUnknown, and the next Sync reopens the store from the disk. A second sync of the same data could
//     succeed although the data is lost.
//   - the disk is full: while there is less room than the reserve, Append answers ErrFull before it sends anything. If
//     the disk fills anyway, nats-server goes silent: the append times out (ErrUnknown), and Sync answers ErrFull until
//     there is room.
//   - another writer: ErrConflict, nothing stored.
//   - a damaged block: nats-server skips what it cannot read. Read counts, and answers *events.DamageError.
//   - a cut tail looks like a shorter log: only a witness (HeadFile, snapshots, a head kept elsewhere) can show it.
//   - the connection to a cluster breaks, or its leader changes: ErrUnknown; the Handler syncs, reads, decides again.
//
// Reads continue while the log is reopened: they wait for it between two pages.
package bus
