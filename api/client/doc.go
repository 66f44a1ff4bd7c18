// Package client speaks to a Maestro server over HTTP: commands by their one route, a method for each query, streams.
//
// It imports the shapes of service/wire and nothing else of ours. It waits and asks again
// where the server says that a limit was reached (429), and nowhere else: a command repeated with the same key is the
// same command, and whoever called knows whether to ask again, to keep it, or to give up. Start reading at
// [Client.Do].
package client
