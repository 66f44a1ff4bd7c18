// Command maestro coordinates fleets of AI coding agents: it is the server, and the command line that people and agents use.
//
// main is a few lines over run, which takes its streams and its environment and gives the exit code. A noun is a file, and
// a command in it is options, flags, and a function that runs them; root.go puts them together. connect.go finds the server
// and the credential, failure.go turns every error into words and an exit code, and output.go is the only place that writes.
// serve.go wires the server.
package main
