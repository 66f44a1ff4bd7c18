// Package webhooks sends the events of the log to webhooks: CloudEvents over HTTP, signed as Standard Webhooks says.
//
// A Sender has a receiver for each webhook that is neither parked nor deleted. A receiver reads the log by itself, up
// to the committed head, so the writer never waits for it. It keeps the events that it has not sent in lanes, one for
// each subject: a lane sends one event at a time, in order, and a lane that fails holds up only itself. What a receiver
// has sent is in the home, not in the log: a list of positions that is saved once a second. After a crash some events
// are sent again, under the same id; none is left out.
//
// A receiver that fails for longer than the operator is patient is parked by a command of the system, so that the log
// says so. The log has everything that it missed.
//
// The package imports engine (the log, and the command that parks), commands, events and projections for what it sends,
// and service/wire for the types that show it.
//
// Start with Sender.Run, then receiver.go (what is sent when) and address.go (where nothing is sent to).
package webhooks
