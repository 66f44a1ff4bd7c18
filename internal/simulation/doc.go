// Package simulation runs the real engine.Handler and projections.State on a simulated log (internal/simlog), lets
// everything go wrong that can, in an order that a seed decides, and holds what it sees against the promises of the
// architecture after every step.
//
// A run is a list of [Step]s. One goroutine, the driver, takes them one by one inside a testing/synctest bubble: it lets clients submit
// commands, resolves the log's held operations with some outcome, moves the clocks, crashes and restarts servers, harms
// snapshots and the log itself. Between steps it waits until every other goroutine is blocked, so a seed always gives the
// same run. When a promise breaks, the list of steps is shortened while it still breaks, and printed with the command that
// runs it again.
//
// What is expected is written here a second time, and by hand: table.go is transcribed from the permission table of the
// contract, model.go folds the log's JSON without projections, judge.go decides without commands. So an error in the product
// does not hide by being in the expectation too.
//
// Start reading at world.go (the run), then steps.go (what may happen), then promises.go (what must hold).
package simulation
