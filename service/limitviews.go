package service

import (
	"maestro/commands"
	"maestro/service/wire"
)

// limitsOf returns the limits that an actor's commands in a project count against, and what is left of each now.
func (v View) limitsOf(by commands.Actor, project string, rows ...commands.Row) []wire.CanLimit {
	limits := []wire.CanLimit{}
	if by.Kind == commands.ActorSystem {
		return limits
	}
	uses := map[resource]bool{useParallel: len(rows) > 0}
	for _, row := range rows {
		switch row.ID {
		case "session:spawn":
			uses[useSpawns] = true
		case "project:create":
			uses[useCreates] = true
		case RowOfManifest: // a read to the table, but a call with a body
			uses[useUploads], uses[useCommands] = true, true
			continue
		}
		uses[useCommands] = uses[useCommands] || row.Write
		uses[useReads] = uses[useReads] || !row.Write
	}
	ledger := v.Service.ledger
	add := func(c Class, name string, r resource) {
		q := ledger.quotas[c][r]
		if q.Value == 0 {
			return
		}
		account := ledger.hold(c, name)
		defer ledger.letGo(account)
		limits = append(limits, canLimit(q, int64(ledger.left(account, r))))
	}
	for _, r := range []resource{useReads, useCommands, useSpawns, useCreates, useUploads, useParallel} {
		if !uses[r] {
			continue
		}
		add(ClassOf(by), AccountName(by), r)
		if by.Kind == commands.ActorSession && by.Project != "" {
			add(classProject, v.Root(by.Project), r)
		}
	}
	return append(limits, v.stocksOf(by, project, rows)...)
}

// stocksOf returns the quotas of concurrent objects that commands add to.
func (v View) stocksOf(by commands.Actor, project string, rows []commands.Row) []wire.CanLimit {
	p := v.Project(project)
	if p == nil {
		return nil
	}
	have := map[string]int{}
	for _, row := range rows {
		switch row.ID {
		case "task:create":
			have["project-tasks"] = tasks(v.State, p.Root)
		case "session:spawn":
			have["project-sessions"] = v.LivingSessions(p.Root)
		case "session:register":
			if by.Kind != commands.ActorSession { // a session registers itself, so it already exists
				have["project-sessions"] = v.LivingSessions(p.Root)
			}
		case "report:needs-input":
			have["session-questions"], have["project-questions"] = v.OpenQuestionsOf(by.Name), v.OpenQuestions(p.Root)
		case "project:create":
			if by.Kind == commands.ActorSession {
				have["project-projects"] = len(v.RootUsage(p.Root).Projects)
			}
		}
	}
	var limits []wire.CanLimit
	for _, q := range quotas { // in their order
		n, counts := have[q.Name]
		if q = v.Service.Limits.Quota(q.Name); counts && q.Value > 0 {
			limits = append(limits, canLimit(q, max(int64(q.Value)-int64(n), 0)))
		}
	}
	return limits
}

func canLimit(q Quota, left int64) wire.CanLimit {
	return wire.CanLimit{
		Name:  q.Name,
		Limit: q.String(),
		Value: q.Value,
		Burst: q.Burst,
		Left:  left,
	}
}

// ListLimits returns the limits in effect, and how many calls each has refused.
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
