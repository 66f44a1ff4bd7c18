// Package client calls a Maestro server over HTTP: commands by their one route, a method for each query, streams.
//
// Of our packages it imports only the types of service/wire. It waits and retries if the server says that a limit was
// reached (429), and in no other case: a command repeated with the same key is the same command, and the caller decides
// whether to retry it, to keep it, or to give up. Start reading at [Client.Do].
package client
