// Package guard takes a home for a server and watches over it while the server runs: which versions of Maestro may open
// it, who holds it, whether it and its files are still where they were, and what an operator is told otherwise. It
// imports internal/home, which is the directory, bus and engine for the log in it, commands and projections for their
// versions, internal/salvage for what a killed one left, events, internal/failure, internal/files and service/wire.
//
// Start with Open, which takes a home, and Log, through which nothing is written to a home that is gone; reading.go
// opens one for a server that writes nothing.
package guard
