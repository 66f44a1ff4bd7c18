// Package events records what happened: the CloudEvents in Maestro's log, their payloads, their catalogue and the hash
// chain through them.
//
// It is pure: no network, no files, no clock, no randomness. It imports none of our packages, so every other package
// may import it.
//
// Start reading at [Event], the envelope; [Data], the sealed sum of all payloads; and [Catalogue], which maps each
// literal type name to its payload. [Hash] and [Next] are the chain. [Message], [Head] and the errors of log.go are the
// vocabulary shared by the package that stores the log (bus) and the one that uses it (engine).
package events
