package wire

import "maestro/commands"

// Request headers, each in its canonical form.
const (
	// HeaderKey has the idempotency key of a write.
	HeaderKey = commands.KeyName
	// HeaderOccurredAt has the time at which a command was said, if the caller kept it before sending it.
	HeaderOccurredAt = "Maestro-Occurred-At"
	// HeaderClient names the calling program, with its version.
	HeaderClient = "Maestro-Client"
	// HeaderTraceParent has a W3C trace context.
	HeaderTraceParent = "Traceparent"
	// HeaderRequestID has the id of a request in the server's log. The answer has it too.
	HeaderRequestID = "X-Request-Id"
)

// Response headers, each in its canonical form.
const (
	// HeaderSequence has the sequence at which the answer was read, or that of the written event.
	HeaderSequence = "Maestro-Sequence"
	// HeaderUntil has the sequence up to which parts of an answer may be newer, if it was made while others wrote. An
	// answer that is sent in parts has it as a trailer.
	HeaderUntil = "Maestro-Sequence-Until"
	// HeaderRetried says that an earlier attempt with the same key created the event.
	HeaderRetried = "Maestro-Retried"
	// HeaderNext has the cursor of the next page of a list, if there is one.
	HeaderNext = "Maestro-Next"
	// HeaderMail lists, for a session, the ids of its oldest unread mail: its questions that were answered, and
	// messages. GET …/mail says how much more there is.
	HeaderMail = "Maestro-Mail"
	// HeaderDamage says why the data that was read lacks acknowledged events.
	HeaderDamage = "Maestro-Damage"
	// HeaderDigest has the digest of a manifest.
	HeaderDigest = "Maestro-Digest"
	// HeaderLease and HeaderEnded answer a heartbeat: how long the session may be silent, and that it has ended.
	HeaderLease = "Maestro-Lease"
	HeaderEnded = "Maestro-Ended"
)
