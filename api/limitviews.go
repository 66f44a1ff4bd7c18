package api

import (
	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
)

// limitsOf gives the limits that a command of an actor counts against.
func (s *server) limitsOf(v service.View, by commands.Actor, row commands.Row) []wire.CanLimit {
	used := []resource{useReads}
	if row.Write {
		used = []resource{useCommands}
	}
	switch row.ID {
	case "session:spawn":
		used = append(used, useSpawns)
	case "project:create":
		used = append(used, useCreates)
	case "manifest:generate":
		used = append(used, useUploads)
	}
	limits := []wire.CanLimit{}
	add := func(c class, name string, r resource) {
		q := s.ledger.quotas[c][r]
		if q.Value == 0 {
			return
		}
		account := s.ledger.hold(c, name)
		defer s.ledger.letGo(account)
		limits = append(limits, wire.CanLimit{
			Name: q.Name, Limit: q.String(), Value: q.Value, Burst: q.Burst, Left: int64(s.ledger.left(account, r)),
		})
	}
	if by.Kind == commands.ActorSystem {
		return limits
	}
	for _, r := range append(used, useParallel) {
		add(classOf(by), accountName(by), r)
		if by.Kind == commands.ActorSession && by.Project != "" {
			add(ofProject, v.Root(by.Project), r)
		}
	}
	return limits
}

func (s *server) listLimits(v service.View) ([]wire.LimitView, error) {
	if err := v.Permit("audit:denials", ""); err != nil {
		return nil, err
	}
	views := make([]wire.LimitView, 0, len(quotas))
	for _, q := range quotas {
		q = s.Limits.quota(q.Name)
		views = append(views, wire.LimitView{
			Name: q.Name, Limit: q.String(), Value: q.Value, Burst: q.Burst,
			Refused: s.ledger.refusals(q.Name), About: q.About,
		})
	}
	return views, nil
}
