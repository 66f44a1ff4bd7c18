package wire

import (
	"maestro/projections"
)

// TokenView is a named token with its last use.
type TokenView struct {
	projections.TokenView
	// Expired says that its time is over.
	Expired bool `json:"expired"`
	// LastUsedAt and LastUsedFrom, the caller's address, are null if it was not used, or that was forgotten.
	LastUsedAt   *int64  `json:"lastUsedAt"`
	LastUsedFrom *string `json:"lastUsedFrom"`
}
