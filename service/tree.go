package service

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// treeCommand returns the session that a command ends or revokes, and a function for the same command on another
// session; "" for any other command.
func treeCommand(command commands.Command) (root string, same func(id string) commands.Command) {
	switch x := command.(type) {
	case *commands.KillSession:
		return x.SessionID, func(id string) commands.Command {
			return &commands.KillSession{SessionID: id, Reason: x.Reason, Failed: x.Failed}
		}
	case *commands.RevokeToken:
		return x.SessionID, func(id string) commands.Command { return &commands.RevokeToken{SessionID: id} }
	}
	return "", nil
}

// checkTree refuses ?tree=true for a command that does not apply to a session.
func checkTree(command commands.Command, o Options) error {
	if root, _ := treeCommand(command); o.Tree && root == "" {
		return InvalidRequest("", "tree is for session:kill, and for token:revoke of a session")
	}
	return nil
}

// livingBelow returns the sessions below one that have not ended, parents before their children.
func (s *Service) livingBelow(ctx context.Context, c *Caller, root string) ([]string, error) {
	var descent *projections.DescendantSearch
	err := s.workOn(ctx, c, func(v View, until uint64) (done bool, err error) {
		if descent == nil {
			descent = v.DescentFrom(root)
		}
		return v.FindDescendants(descent, until), nil
	})
	if err != nil {
		return nil, err
	}
	return descent.Living, nil
}

// keyOf returns the key of the command of a call that is for one session, so that a repeated call repeats it.
func keyOf(key, session string) string {
	return uuid.NewSHA1(uuid.Nil, []byte(key+"\x00"+session)).String()
}

// below applies a command to every living session below its session too, if that is requested, and counts those that
// remain. Each is a command with an event of its own. A parent comes before its children: once it has ended, or its
// secret is revoked, it can spawn no more. The keys derive from the request's, so a repeated request continues where an
// earlier one stopped.
func (s *Service) below(
	ctx context.Context, c *Caller, request engine.Request, o Options,
) (body wire.Below, err error) {
	root, same := treeCommand(request.Command)
	if root == "" {
		return body, nil
	}
	done := map[string]bool{}
	for {
		living, err := s.livingBelow(ctx, c, root)
		if err != nil {
			return body, err
		}
		rest := slices.DeleteFunc(living, func(id string) bool { return done[id] })
		body.LivingBelow = len(rest)
		if o.Tree && o.DryRun {
			return wire.Below{Also: rest}, nil
		}
		if !o.Tree || len(rest) == 0 {
			return body, nil
		}
		for _, id := range rest {
			done[id] = true
			next := request
			next.Command, next.Key = same(id), keyOf(request.Key, id)
			answer, err := s.execute(ctx, c, next, false)
			if err != nil {
				return body, err
			}
			if answer.Event != nil {
				body.Also = append(body.Also, id)
			}
		}
	}
}
