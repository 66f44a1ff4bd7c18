// Package mail puts a session's mail into words, for the command line and for the hook of an agent.
//
// It imports service/wire and internal/safetext. Start with mail.go.
package mail
