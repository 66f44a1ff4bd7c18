// Package guard locks a home for a server and watches it while the server runs: which versions of Maestro may open it,
// which process holds it, whether it and its files are still in place, and what to tell the operator if not. It imports
// internal/home, which is the directory, bus and engine for the log in it, commands and projections for their versions,
// internal/salvage for the remains of a killed one, events, internal/failure, internal/files and service/wire.
//
// Start with Open, which locks a home, and Log, which prevents writes to a home that is gone; reading.go opens a home
// for a server that writes nothing.
package guard
