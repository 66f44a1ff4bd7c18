package api

import "maestro/projections"

func (s *server) tokenRoutes() {
	read(s, op{path: "/api/tokens", name: "token-list", summary: "The named tokens, also those that were revoked; never a secret"}, listTokens)
}

func listTokens(v view, _ *struct{}) ([]projections.TokenView, error) {
	if err := v.permit("token:list", ""); err != nil {
		return nil, err
	}
	views := []projections.TokenView{}
	for token := range v.Tokens() {
		views = append(views, token.View())
	}
	return views, nil
}
