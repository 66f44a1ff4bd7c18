// Package events says what happened: the CloudEvents that Maestro's log holds, their payloads, their catalogue and the
// hash chain through them.
//
// It is pure: no network, no file, no clock, no randomness. It imports nothing of ours, so every other package may
// import it.
//
// Start reading at [Event], the envelope; [Data], the sealed sum of all payloads; and [Catalogue], which ties each
// literal type name to its payload. [Hash] and [Next] are the chain. [Message], [Head] and the errors of log.go are the
// words in which the log itself is spoken of by those who keep it (bus) and those who need it (engine).
package events
