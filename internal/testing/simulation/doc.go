// Package simulation runs the real engine.Handler and projections.State on a simulated log (internal/testing/simlog),
// injects every kind of fault in an order that a seed determines, and checks the promises of the architecture after
// every step.
//
// A run is a list of [Step]s. One goroutine, the driver, takes them one by one inside a testing/synctest bubble: it
// lets clients submit commands, chooses the outcomes of the log's held operations, moves the clocks, crashes and
// restarts servers, and damages snapshots and the log itself. Between steps it waits until every other goroutine is
// blocked, so a seed always produces the same run. When a promise breaks, the list of steps is shortened as long as the
// promise still breaks, and printed with the command that runs it again.
//
// The expected results come from internal/oracle, which is written from the documents and shares no code with the
// product, so an error in the product is not repeated in the expectation. This package has no rules of its own:
// model.go is what clients know, so that they can send sensible commands.
//
// Start reading at world.go (the run), then steps.go (what may happen), then oracle.go and promises.go (what must
// hold).
package simulation
