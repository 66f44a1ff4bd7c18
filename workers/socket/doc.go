// Package socket connects an agent's programs with their supervisor: a unix socket in a directory of the user, and who
// is at the other end of a connection.
//
// It uses the standard library and golang.org/x/sys only. Start with socket.go.
package socket
