// Command maestro coordinates fleets of AI coding agents: it is the server, and the command line for people and agents.
//
// Here is main, and the wiring of serve: serveoptions.go has its flags, serve.go wires the server out of parts.go,
// readonly.go wires one that writes nothing, and listening.go says where it is. The command line is internal/cli; what
// a server is made of is in service and engine, and around them in internal/server, internal/backups and internal/home.
package main
