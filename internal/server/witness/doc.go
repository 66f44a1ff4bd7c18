// Package witness is what remembers where a home's log ended, apart from the log: the head file, the snapshots and the
// automatic backups. A log that is shorter than they say has lost what was acknowledged. It imports bus and
// internal/backups, which keep them, internal/home for their places, engine and events.
//
// Start with Backups and Sequence, which ask them before the log is opened; head.go and snapshots.go keep them while a
// server runs, and readonly.go shows them to one that writes nothing.
package witness
