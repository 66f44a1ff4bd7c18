// Package cli is the command line for people and agents. A command calls the typed client of api/client and prints the
// answer; it does not compute what the server can compute.
//
// Each noun has a file. A command in it consists of options, flags, and a function that runs it; root.go puts them
// together, and Main runs them. connect.go finds the server and the credential, failure.go turns every error into a
// message and an exit code, and output.go is the only place that writes.
package cli
