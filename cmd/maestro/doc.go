// Command maestro coordinates fleets of AI coding agents: it is the server, and the command line for people and agents.
//
// The command line is internal/cli. Here is what only the binary has: serve.go wires the server, readonly.go one that
// writes nothing; handler.go opens the engine, witnesses.go what remembers where the log ended, guardedlog.go and
// homefiles.go watch over the home while it runs, clockwatch.go over the clock, upkeep.go makes its backups,
// stop.go ends it; bench.go measures the product.
package main
