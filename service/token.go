package service

import "maestro/service/wire"

// ListTokens gives the named tokens, also those that were revoked; never a secret.
func (v View) ListTokens() ([]wire.TokenView, error) {
	if err := v.Permit("token:list", ""); err != nil {
		return nil, err
	}
	views := []wire.TokenView{}
	now := v.Service.Now().UnixMilli()
	for token := range v.Tokens() {
		shown := wire.TokenView{TokenView: token.View(), Expired: token.Expired(now)}
		if use, ok := v.Service.Uses.of(token.Name, token.Generation); ok {
			shown.LastUsedAt, shown.LastUsedFrom = &use.At, &use.From
		}
		views = append(views, shown)
	}
	return views, nil
}
