// Package salvage creates a new home from a damaged one. It reads the damaged home and never writes to it.
//
// The new log begins at the first event and continues as long as the next event is proven, that is, as long as it names
// the hash of the chain before it. Each event comes from the damaged store or, if the store lacks it, from a backup or
// an export. The new log ends where no source has the next event: later decisions depend on the missing events, so they
// can be neither appended nor decided again. Every readable event after that gap is written to an export file instead.
// See [Home].
package salvage
