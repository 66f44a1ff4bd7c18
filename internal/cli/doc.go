// Package cli is the command line: what people and agents type. A command calls the typed client of api/client and
// prints the answer; what the server can compute, it does not compute.
//
// A noun is a file, and a command in it is options, flags, and a function that runs them; root.go puts them together,
// and Main runs them. connect.go finds the server and the credential, failure.go turns every error into words and an
// exit code, and output.go is the only place that writes.
package cli
