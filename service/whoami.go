package service

import (
	"cmp"
	"errors"
	"slices"

	"maestro/commands"
	"maestro/service/wire"
)

// GetWhoami returns who the caller is.
func (v View) GetWhoami() (wire.Whoami, error) {
	if err := v.Permit("whoami", ""); err != nil {
		return wire.Whoami{}, err
	}
	by := v.Caller.By
	body := wire.Whoami{
		Actor:  by.Name,
		Kind:   by.Kind,
		Role:   string(by.Kind),
		Access: by.Access,
		Authn:  by.Authn,
	}
	if x := v.Session(by.Name); by.Kind == commands.ActorSession && x != nil {
		v.whoamiSession(x, &body)
	} else if by.Access == commands.AccessAuditor {
		body.Next = "`maestro audit verify` checks the log; `maestro audit denials` shows what was refused"
	} else if v.Permit("inbox", "") == nil {
		body.Next = "`maestro inbox` shows what needs you"
	}
	return body, nil
}

// GetAllowedCommands returns what the caller may do.
func (v View) GetAllowedCommands() (wire.AllowedCommands, error) {
	if err := v.Permit("commands", ""); err != nil {
		return wire.AllowedCommands{}, err
	}
	table := commands.CurrentRules()
	body := wire.AllowedCommands{Role: string(v.Caller.By.Kind)}
	if x := v.Session(v.Caller.By.Name); v.Caller.By.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy = string(x.Role), string(x.Strategy)
		body.AllowedCommands = table.Offered(x.Permissions.Commands)
		if x.Ended() {
			rest := afterEndRows()
			body.AllowedCommands = slices.DeleteFunc(body.AllowedCommands, func(id string) bool { return !rest[id] })
		}
	} else {
		for _, id := range table.Defaults(commands.RoleUser) {
			if v.Permit(id, "") == nil {
				body.AllowedCommands = append(body.AllowedCommands, id)
			}
		}
	}
	body.HiddenCommands = table.Hidden(body.AllowedCommands)
	return body, nil
}

// CheckCommand says whether the caller may use a command, by its id or an alias.
func (v View) CheckCommand(in *wire.CommandID) (wire.CommandCheck, error) {
	own, err := v.GetAllowedCommands()
	if err != nil {
		return wire.CommandCheck{}, err
	}
	check := wire.CommandCheck{
		Command:  in.ID,
		Role:     own.Role,
		Strategy: own.Strategy,
	}
	if by := v.Caller.By; by.Kind == commands.ActorUser && by.Name != commands.AdminName {
		check.Caller = "the " + string(by.Access) + " token '" + by.Name + "'"
	}
	row, known := commands.CurrentRules().Row(in.ID)
	switch {
	case !known:
		unknown := commands.UnknownCommand(in.ID)
		check.Unknown, check.Why = true, unknown.Why
		if commands.CurrentRules().Meant(in.ID) != "" {
			check.Next = unknown.Next
		}
	case row.Planned:
		check.Planned, check.Why = true, commands.WhyPlanned
	case v.callerEnded() && !slices.Contains(own.AllowedCommands, cmp.Or(row.Alias, row.ID)):
		var refusal *commands.Refusal
		if errors.As(v.AfterEnd(row.ID), &refusal) {
			how := commands.HowEnded(v.Session(v.Caller.By.Name))
			check.Message, check.Next = refusal.Message, refusal.Next
			check.Why = "the session has ended: " + how + "; " + refusal.Why
		}
	case !slices.Contains(own.AllowedCommands, cmp.Or(row.Alias, row.ID)):
		check.Why = "it is for: " + row.Who.String()
		var refusal *commands.Refusal
		if errors.As(v.Permit(row.ID, ""), &refusal) {
			check.Message, check.Why, check.Next = refusal.Message, refusal.Why, refusal.Next
		}
	default:
		check.Allowed = true
	}
	return check, nil
}
