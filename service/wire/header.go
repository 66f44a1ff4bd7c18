package wire

import "maestro/commands"

// Headers of requests, each in its canonical form.
const (
	// HeaderKey has the idempotency key of a write.
	HeaderKey = commands.KeyName
	// HeaderOccurredAt has the time at which a command was said that waited on its caller's side.
	HeaderOccurredAt = "Maestro-Occurred-At"
	// HeaderClient names the program that calls, with its version.
	HeaderClient = "Maestro-Client"
	// HeaderTraceParent has a W3C trace context.
	HeaderTraceParent = "Traceparent"
)

// Headers of answers, each in its canonical form.
const (
	// HeaderSequence has the sequence that the answer was read at, or the one of the event that was written.
	HeaderSequence = "Maestro-Sequence"
	// HeaderRetried says that an earlier try with the same key had made the event.
	HeaderRetried = "Maestro-Retried"
	// HeaderNext has the cursor of the next page of a list, as long as there is one.
	HeaderNext = "Maestro-Next"
	// HeaderMail names, to a session, the oldest of the mail that it was not yet shown: its questions that were
	// answered, and messages. GET …/mail tells how much more there is.
	HeaderMail = "Maestro-Mail"
	// HeaderDamage says, with what is read, why that is not all that was acknowledged.
	HeaderDamage = "Maestro-Damage"
	// HeaderDigest has the digest of a manifest.
	HeaderDigest = "Maestro-Digest"
	// HeaderLease and HeaderEnded answer a heartbeat: how long the session may be silent, and that it has ended.
	HeaderLease = "Maestro-Lease"
	HeaderEnded = "Maestro-Ended"
)
