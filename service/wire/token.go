package wire

import (
	"maestro/events"

	"maestro/projections"
)

// TokenView is a named token with its last use.
type TokenView struct {
	projections.TokenView
	// Expired says that its time is over.
	Expired bool `json:"expired"`
	// Running are the first sessions that it spawned and that go on although it has expired; RunningMore counts the
	// others.
	Running     []string `json:"running,omitempty"`
	RunningMore int      `json:"runningMore,omitempty"`
	// LastUsedAt and LastUsedFrom, the caller's address, are null if it was not used, or that was forgotten.
	LastUsedAt   *events.Millis `json:"lastUsedAt"`
	LastUsedFrom *string        `json:"lastUsedFrom"`
}

// Revoked is what token:revoke of a named token answers beside its event.
type Revoked struct {
	// Kept are the valid tokens that it made, directly or not; there are some only if they were to be kept.
	Kept []string `json:"kept,omitempty"`
	// Running counts the sessions that it, or a token that was revoked with it, spawned and that have not ended.
	Running int `json:"running"`
}
