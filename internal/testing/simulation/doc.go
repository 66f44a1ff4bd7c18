// Package simulation runs the real engine.Handler and projections.State on a simulated log (internal/testing/simlog),
// lets everything go wrong that can, in an order that a seed decides, and holds what it sees against the promises of
// the architecture after every step.
//
// A run is a list of [Step]s. One goroutine, the driver, takes them one by one inside a testing/synctest bubble: it
// lets clients submit commands, resolves the log's held operations with some outcome, moves the clocks, crashes and
// restarts servers, harms snapshots and the log itself. Between steps it waits until every other goroutine is blocked,
// so a seed always gives the same run. When a promise breaks, the list of steps is shortened while it still breaks, and
// printed with the command that runs it again.
//
// What is expected comes from internal/oracle, which is written from the documents and shares no code with the product.
// So an error in the product does not hide by being in the expectation too. This package has no rules of its own:
// model.go is what clients know, so that they can ask for what makes sense.
//
// Start reading at world.go (the run), then steps.go (what may happen), then oracle.go and promises.go (what must
// hold).
package simulation
