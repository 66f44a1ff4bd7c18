// Package witness reads and writes the records, apart from the log, of where a home's log ended: the head file, the
// snapshots and the automatic backups. A log that is shorter than they say has lost acknowledged events. It imports bus
// and internal/backups, which write them, internal/home for their places, engine and events.
//
// Start with Backups and Sequence, which consult them before the log is opened. head.go and snapshots.go write them
// while a server runs, and readonly.go shows them to a server that writes nothing.
package witness
