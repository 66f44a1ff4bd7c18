package service

import (
	"context"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

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

// revokedOf tells what a revoked token leaves behind; nil if that is more than one read may count.
func (s *Service) revokedOf(ctx context.Context, c *Caller, name string, data events.Data) *wire.Revoked {
	makers := map[string]bool{projections.UserSource(name): true}
	if revoked, ok := data.(*events.TokenRevoked); ok {
		for _, child := range revoked.Children {
			makers[projections.UserSource(child)] = true
		}
	}
	told := &wire.Revoked{}
	err := s.Look(ctx, c, func(v View) error {
		told.Kept = v.MadeBy(name)
		for x := range v.Living() {
			if makers[x.CreatedBy] {
				told.Running++
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return told
}

// ofToken gives the named token that a command revokes; "" for any other command.
func ofToken(command commands.Command) string {
	if x, ok := command.(*commands.RevokeToken); ok {
		return x.Name
	}
	return ""
}
