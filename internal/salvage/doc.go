// Package salvage makes a new home out of a damaged one. It reads the damaged home and never writes to it.
//
// The new log begins at the first event and takes one event after the other, as long as the next one is proven: it
// names the hash of the chain before it. Each comes from the damaged store or, where that has none, from a backup or
// an export. Where no source has the next event, the new log ends: what was decided later rests on what is missing,
// so it can neither be appended nor decided again. Every readable event behind that gap goes into an export file
// instead. See [Home].
package salvage
