package service

import (
	"maestro/commands"
	"maestro/service/wire"
)

// limitsOf gives the limits that a command of an actor counts against.
func (v View) limitsOf(by commands.Actor, row commands.Row) []wire.CanLimit {
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
		used = []resource{useCommands, useUploads} // a read to the table, and a call with a body
	}
	ledger := v.Service.ledger
	limits := []wire.CanLimit{}
	add := func(c Class, name string, r resource) {
		q := ledger.quotas[c][r]
		if q.Value == 0 {
			return
		}
		account := ledger.hold(c, name)
		defer ledger.letGo(account)
		limits = append(limits, wire.CanLimit{
			Name:  q.Name,
			Limit: q.String(),
			Value: q.Value,
			Burst: q.Burst,
			Left:  int64(ledger.left(account, r)),
		})
	}
	if by.Kind == commands.ActorSystem {
		return limits
	}
	for _, r := range append(used, useParallel) {
		add(ClassOf(by), AccountName(by), r)
		if by.Kind == commands.ActorSession && by.Project != "" {
			add(ofProject, v.Root(by.Project), r)
		}
	}
	return limits
}

// ListLimits gives the limits that count, and how many calls each has refused.
func (v View) ListLimits() ([]wire.LimitView, error) {
	if err := v.Permit("audit:denials", ""); err != nil {
		return nil, err
	}
	views := make([]wire.LimitView, 0, len(quotas))
	for _, q := range quotas {
		q = v.Service.Limits.Quota(q.Name)
		views = append(views, wire.LimitView{
			Name:    q.Name,
			Limit:   q.String(),
			Value:   q.Value,
			Burst:   q.Burst,
			Refused: v.Service.ledger.refusals(q.Name),
			About:   q.About,
		})
	}
	return views, nil
}
