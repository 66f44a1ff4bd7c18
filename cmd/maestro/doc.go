// Command maestro coordinates fleets of AI coding agents: it is the server, and the command line for people and agents.
//
// This package has main, and the wiring of serve: serveoptions.go has its flags, serve.go builds the server from
// parts.go, readonly.go builds one that writes nothing, and listening.go announces the server's address. The command
// line is in internal/cli; the server's parts are in service and engine, and in internal/server, internal/backups and
// internal/home.
package main
