package wire

import (
	"maestro/events"

	"maestro/projections"
)

// TokenView is a named token with its last use.
type TokenView struct {
	projections.TokenView
	// Expired says that the token has expired.
	Expired bool `json:"expired"`
	// Running are the first sessions that it spawned and that continue although it has expired; RunningMore counts the
	// others.
	Running     []string `json:"running,omitempty"`
	RunningMore int      `json:"runningMore,omitempty"`
	// LastUsedAt and LastUsedFrom, the caller's address, are null if it was not used, or if that was forgotten.
	LastUsedAt   *events.Millis `json:"lastUsedAt"`
	LastUsedFrom *string        `json:"lastUsedFrom"`
}

// Revoked is the answer of token:revoke for a named token in addition to its event.
type Revoked struct {
	// Kept are the valid tokens that it created, directly or not; empty unless they were to be kept.
	Kept []string `json:"kept,omitempty"`
	// Running counts the sessions that it, or a token revoked with it, spawned and that have not ended.
	Running int `json:"running"`
}
