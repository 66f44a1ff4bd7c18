package doctor

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"maestro/internal/cli"
	"maestro/internal/safetext"
	"maestro/workers/outbox"
)

// lookAtOutboxes looks for commands that sessions kept.
func lookAtOutboxes(ctx context.Context, x *examination) (found []Finding) {
	if x.home == nil {
		return nil
	}
	unreadable := func(err error) Finding {
		return homeUnusable.found("The outboxes of the home cannot all be read: "+err.Error(),
			"they may hold reports that were acknowledged to a session", "correct the mode or the owner of "+
				filepath.Join(x.dir, "outbox")+": "+
				safetext.Line("chmod", "-R", "u+rwX", filepath.Join(x.dir, "outbox")))
	}
	sessions, err := outbox.Sessions(ctx, x.home.Root())
	if err != nil {
		found = append(found, unreadable(err))
	}
	waiting, of := 0, 0
	for _, session := range sessions {
		box, err := outbox.Open(x.home.Root(), session, func() string { return "" })
		if err != nil {
			continue // listing them reports it
		}
		if n, err := box.Waiting(); err == nil && n > 0 {
			waiting, of = waiting+n, of+1
		}
	}
	if waiting > 0 {
		next := "start the home's server with `maestro serve`: it delivers them"
		if x.runs {
			next = "the server delivers them within seconds; if they stay, its log says why"
		}
		found = append(found, outboxWaiting.found(
			fmt.Sprintf("%s of %s wait to be delivered", cli.Many(waiting, "kept command"), cli.Many(of, "session")),
			"the server does not know these reports yet", next))
	}
	aside, err := outbox.SetAside(ctx, x.home.Root())
	if err != nil {
		found = append(found, unreadable(err))
	}
	replaced, err := outbox.Replaced(ctx, x.home.Root())
	if err != nil {
		found = append(found, unreadable(err))
	}
	for _, session := range slices.Sorted(maps.Keys(replaced)) {
		_, dir := outbox.AsideDirs(session)
		dir = filepath.Join(x.dir, dir)
		found = append(found, outboxAside.found(
			cli.Many(replaced[session], "kept command")+" with a replaced secret of session "+session+" set aside",
			cli.WhyReplaced,
			"read what is in "+dir+", have the session say again what still counts, and remove it: "+
				safetext.Line("rm", "-r", dir)))
	}
	for _, session := range slices.Sorted(maps.Keys(aside)) {
		dir, _ := outbox.AsideDirs(session)
		dir = filepath.Join(x.dir, dir)
		found = append(found, outboxAside.found(
			cli.Many(aside[session], "kept command")+" of session "+session+" set aside",
			"nothing proves that the session said it, or it cannot be read, so it is not delivered",
			"read what is in "+dir+", have the session report it again, and remove it: "+
				safetext.Line("rm", "-r", dir)))
	}
	refused, err := outbox.WithRefused(ctx, x.home.Root())
	if err != nil {
		found = append(found, unreadable(err))
	}
	for _, session := range slices.Sorted(maps.Keys(refused)) {
		found = append(found, outboxRefused.found("Kept commands of session "+session+" were refused",
			"the session has not seen it: it may believe that they were accepted",
			"see "+safetext.Line("maestro", "audit", "denials", "--actor", session)+"; the session's next command "+
				"shows them, or, if it has ended, remove the note: "+
				safetext.Line("rm", filepath.Join(x.dir, refused[session]))))
	}
	return found
}
