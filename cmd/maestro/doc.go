// Command maestro coordinates fleets of AI coding agents: it is the server, and the command line for people and agents.
//
// The command line is internal/cli. Here is what only the binary has: serve.go wires the server, readonly.go one that
// writes nothing, upkeep.go its backups, delivery.go what sessions kept, and bench.go measures it.
package main
