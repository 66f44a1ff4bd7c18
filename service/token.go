package service

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

// ListTokens gives the named tokens, also those that were revoked; never a secret.
func (v View) ListTokens() ([]TokenView, error) {
	if err := v.Permit("token:list", ""); err != nil {
		return nil, err
	}
	views := []TokenView{}
	now := v.Service.Now().UnixMilli()
	for token := range v.Tokens() {
		shown := TokenView{TokenView: token.View(), Expired: token.Expired(now)}
		if use, ok := v.Service.Uses.of(token.Name, token.Generation); ok {
			shown.LastUsedAt, shown.LastUsedFrom = &use.At, &use.From
		}
		views = append(views, shown)
	}
	return views, nil
}
