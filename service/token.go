package service

import (
	"context"
	"iter"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// ListTokens returns the named tokens, including revoked ones; never a secret. The returned function finds them, and
// runs without the state.
func (v View) ListTokens() (func() (Page[wire.TokenView], error), error) {
	if err := v.Permit("token:list", ""); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	names := v.TokenNames()
	return func() (Page[wire.TokenView], error) {
		now := v.Service.Now().UnixMilli()
		show := func(v View, _, name string) (wire.TokenView, bool) {
			token := v.Token(name)
			view := wire.TokenView{TokenView: token.View(), Expired: token.Expired(now)}
			if use, ok := v.Service.Uses.useOf(token.Name, token.Generation); ok {
				at := events.Millis(use.At)
				view.LastUsedAt, view.LastUsedFrom = &at, &use.From
			}
			return view, true
		}
		page, err := pageOf(v, asked, []restOf{{ids: names}}, show)
		ended := func(t wire.TokenView) bool { return t.Expired && t.RevokedAt == nil }
		if err == nil && slices.ContainsFunc(page.Items, ended) {
			err = v.spawnedBy(page.Items, now)
		}
		return page, err
	}, err
}

// runningListed is how many sessions of an expired token are listed.
const runningListed = 20

// spawnedBy adds the sessions that continue although the token that spawned them has expired.
func (v View) spawnedBy(views []wire.TokenView, now int64) error {
	at := map[string]*wire.TokenView{}
	for i := range views {
		at[views[i].Name] = &views[i]
	}
	return v.eachLiving(func(v View, x *projections.Session) {
		token := v.ExpiredSpawner(x, now)
		if token == nil || at[token.Name] == nil {
			return
		}
		if t := at[token.Name]; len(t.Running) < runningListed {
			t.Running = append(t.Running, x.ID)
		} else {
			t.RunningMore++
		}
	})
}

// tokens returns the named tokens in order of their first creation, found in portions.
func (v View) tokens() (tokens []*projections.Token, err error) {
	var names []string
	v.again(func(v View) { names = v.TokenNames() })
	err = v.listing(func(v View, until uint64) (done bool) {
		for len(names) > 0 && v.Steps() < until {
			tokens = append(tokens, v.Token(names[0]))
			names = names[1:]
		}
		return len(names) == 0
	})
	return tokens, err
}

// revokedOf returns what a revoked token leaves behind; nil if that is more than one read may count.
func (s *Service) revokedOf(ctx context.Context, c *Caller, name string, data events.Data) *wire.Revoked {
	makers := map[string]bool{projections.UserSource(name): true}
	if revoked, ok := data.(*events.TokenRevoked); ok {
		for _, child := range revoked.Children {
			makers[projections.UserSource(child)] = true
		}
	}
	told := &wire.Revoked{}
	err := RecoverPart(func() error {
		v := s.later(ctx, c)
		tokens, err := v.tokens()
		if err != nil {
			return err
		}
		told.Kept = projections.TokensCreatedAmong(tokens, name)
		told.Running, err = v.running(makers)
		return err
	})
	if err != nil {
		return nil
	}
	return told
}

// running counts the living sessions that one of makers spawned, in portions.
func (v View) running(makers map[string]bool) (n int, err error) {
	err = v.eachLiving(func(_ View, x *projections.Session) {
		if makers[x.CreatedBy] {
			n++
		}
	})
	return n, err
}

// eachLiving visits the living sessions, in portions.
func (v View) eachLiving(visit func(v View, x *projections.Session)) error {
	var living iter.Seq[string]
	v.again(func(v View) { living = v.LivingIDs() })
	ids := slices.Collect(living)
	return v.listing(func(v View, until uint64) (done bool) {
		for len(ids) > 0 && v.Steps() < until {
			if x := v.Session(ids[0]); x != nil && !x.Ended() {
				visit(v, x)
			}
			ids = ids[1:]
		}
		return len(ids) == 0
	})
}

// revokedToken returns the named token that a command revokes; "" for any other command.
func revokedToken(command commands.Command) string {
	if x, ok := command.(*commands.RevokeToken); ok {
		return x.Name
	}
	return ""
}
