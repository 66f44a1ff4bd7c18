package cli

import (
	"context"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
	"maestro/workers/mail"
)

// awaitMail waits until there is mail for the session, prints it, and acknowledges it to the server.
func awaitMail(ctx context.Context, a *Run, timeout time.Duration) error {
	if !a.isSession() {
		return failure.Usage("Only a session has mail").
			WithNext("see the questions of sessions with `maestro inbox`, or name one to wait for its answer")
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	var box wire.Mailbox
	release := func() {}
	defer func() { release() }()
	over, err := inSlices(ctx, a, c, timeout, func(ctx context.Context, slice time.Duration) (done bool, err error) {
		if box, err = c.AwaitMail(ctx, a.sessionID(), slice); err != nil || len(box.Mail) == 0 {
			return false, err
		}
		release = a.lockMail(ctx)
		box, err = c.Mail(ctx, a.sessionID()) // another command may have shown it meanwhile
		if err != nil || len(box.Mail) == 0 {
			release()
			release = func() {}
		}
		return len(box.Mail) > 0, err
	})
	switch {
	case err != nil:
		return err
	case over:
		return &failure.Error{
			Code:    failure.TimedOut,
			Message: "There was no mail within " + timeout.String(),
			Next:    "keep waiting with `maestro input wait`, or go on: mail comes with your next command",
		}
	}
	a.Result(box, func() {
		for _, one := range box.Mail {
			a.Print("%s\n", mail.Words(one))
		}
		if box.More > 0 {
			a.Print("%d more are waiting: run the command again\n", box.More)
		}
	})
	for _, one := range box.Mail {
		if a.broken != nil {
			return nil
		}
		a.forget(one.ID)
		if err := shown(ctx, c, one.ID); err != nil {
			return err
		}
	}
	return nil
}

// showMail shows a session, after its command, its unread answers and messages. It writes to stderr, because stdout
// belongs to the command.
func (a *Run) showMail(ctx context.Context) {
	if len(a.waiting) == 0 || a.dryRun || !a.isSession() || a.orphaned() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mailWithin)
	defer cancel()
	c, err := a.Connect(ctx)
	if err != nil {
		return // the next command retries
	}
	defer a.lockMail(ctx)()
	box, err := c.Mail(ctx, a.sessionID())
	if err != nil {
		return
	}
	for _, one := range box.Mail {
		a.Say("maestro: %s\n", mail.Words(one))
		// If this does not arrive, the mail is shown again: better twice than never.
		_ = shown(ctx, c, one.ID)
	}
	if box.More > 0 {
		a.Say("maestro: %d more are waiting; your next command shows them\n", box.More)
	}
}

// lockMail waits until no other command on this machine shows the session its mail, so that each piece is shown once.
// Without a home, or after a while, the mail is shown all the same: better twice than never.
func (a *Run) lockMail(ctx context.Context) (release func()) {
	h := a.openHome()
	if h == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, mailWithin/2)
	defer cancel()
	unlock, err := h.LockMail(ctx, a.sessionID())
	if err != nil {
		_ = h.Close()
		return func() {}
	}
	return func() { unlock(); _ = h.Close() }
}

// shown acknowledges shown mail to the server.
func shown(ctx context.Context, c *client.Client, id string) error {
	_, err := c.Do(ctx, "input:received", &commands.ReceiveInput{InputID: id}, client.Options{Key: "received-" + id})
	return err
}
