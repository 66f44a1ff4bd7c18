// Package cli is the command line for people and agents. A command calls the typed client of api/client and prints the
// answer; it does not compute what the server can compute.
//
// Each noun has a file. A command consists of options, flags, and a function that runs it; root.go combines the
// commands, and Main runs them. connect.go finds the server and the credential, failure.go turns every error into a
// message and an exit code, and only output.go writes output.
package cli
