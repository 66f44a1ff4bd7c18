package service

import (
	"context"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// mailListed and mailBytes bound how much mail one read shows, and so what an agent has to read at once. Received mail
// makes room for the rest.
const (
	mailListed = 20
	mailBytes  = 32 << 10
)

// AwaitMail waits until there is mail for the calling session, or the session has ended.
func (s *Service) AwaitMail(ctx context.Context, c *Caller, in *wire.MailOf) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	wait, err := ParseWait(in.Wait)
	if err != nil || wait == 0 || in.ID != c.By.Name {
		return err
	}
	may := false
	s.Handler.View(func(state *projections.State) {
		x := state.Session(in.ID)
		may = x != nil && s.At(state, c).Permit("input:wait", x.ProjectID) == nil
	})
	if !may {
		return nil // GetMail reports it
	}
	if err := s.beginWait(ctx, c); err != nil {
		return err
	}
	c.waited = true
	return s.Await(ctx, c, wait, func(state *projections.State) bool {
		x := state.Session(in.ID)
		return x == nil || x.Ended() || len(state.Undelivered(in.ID)) > 0
	}, engine.MailOf(in.ID), engine.Key{Kind: projections.KindSession, ID: in.ID})
}

// GetMail returns a session's unread mail, oldest first: answers to its questions, messages, and notices about its
// tasks. A session reads its own and that of the sessions that it spawned; a user who may see the session reads it too.
// Only the session itself waits for it.
func (v View) GetMail(in *wire.MailOf) (wire.Mailbox, error) {
	row := "session:info"
	switch itself := v.Caller.By.Kind == commands.ActorSession && in.ID == v.Caller.By.Name; {
	case itself && in.Wait != "":
		row = "input:wait"
	case itself:
		row = "whoami"
	}
	x, err := v.PermitSession(row, in.ID)
	if err != nil {
		return wire.Mailbox{}, err
	}
	if by := v.Caller.By; !v.Caller.readsMail(x) {
		return wire.Mailbox{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + by.Name + "' may not read the mail of session '" + x.ID + "'",
			Why:     "a session reads its own mail, and that of the sessions that it spawned",
			Next:    "read your own with `maestro input wait`",
		}
	}
	waiting := v.Undelivered(x.ID)
	box := wire.Mailbox{Mail: make([]wire.Mail, 0, min(len(waiting), mailListed))}
	bytes := 0
	for _, id := range waiting[:min(len(waiting), mailListed)] {
		mail := v.mail(x, id)
		names := v.names(mail.From, mail.About)
		_, session, _ := projections.SessionOfSource(mail.From)
		mail.FromName, mail.AboutTitle = names[session], names[mail.About]
		if t := v.TaskEver(mail.About); t != nil && t.Deleted && x.ProjectID == t.ProjectID {
			mail.AboutTitle = t.Title // the notice of its deletion is about it
		}
		if spawner := v.Session(x.SpawnedBy); spawner != nil && session == x.SpawnedBy {
			mail.FromName = spawner.Name // whoami tells every session who spawned it
		}
		if bytes += len(mail.Text); bytes > mailBytes && len(box.Mail) > 0 {
			break
		}
		box.Mail = append(box.Mail, mail)
	}
	box.More = len(waiting) - len(box.Mail)
	return box, nil
}

// readsMail reports whether the caller may read a session's mail: answers to its questions, and messages.
func (c *Caller) readsMail(x *projections.Session) bool {
	if c.By.Kind == commands.ActorRunner {
		return speaks(c.By, x)
	}
	return c.By.Kind != commands.ActorSession || c.By.Name == x.ID || c.By.Name == x.SpawnedBy
}

// describe says what an event decided. Only callers that may read a session's mail see the text of what was written to
// it. Nothing else in this package describes events.
func (s *Service) describe(c *Caller, data events.Data) events.Description {
	if mail, ok := data.(events.Mail); ok {
		may := false
		s.Handler.View(func(state *projections.State) {
			x := state.SessionEver(mail.MailFor())
			may = x != nil && c.readsMail(x)
		})
		if !may {
			data = mail.WithoutText()
		}
	}
	return data.Describe()
}

func (v View) mail(x *projections.Session, id string) wire.Mail {
	v.Worked(len(x.Mail) / namesPerStep)
	if message := x.Message(id); message != nil {
		return v.mailOf(message)
	}
	asked := v.Input(id)
	text, cut := clipped(asked.Answer)
	question, _ := clipped(asked.Question)
	return wire.Mail{
		ID:       id,
		Kind:     wire.MailAnswer,
		From:     asked.AnsweredBy,
		Text:     text,
		Cut:      cut,
		Question: question,
		Run:      asked.Run,
		At:       events.Millis(asked.AnsweredAt),
	}
}

// clipped cuts a text to the length of the longest message, which an agent reads in full.
func clipped(text string) (short string, cut bool) {
	return events.Preview(text, int(commands.LimitMessage.Value))
}

func (v View) mailOf(m *projections.Message) wire.Mail {
	kind := wire.MailMessage
	if m.Notice != "" {
		kind = wire.MailKind(m.Notice)
	}
	text, cut := clipped(m.Text)
	return wire.Mail{
		ID:    m.ID,
		Kind:  kind,
		From:  m.From,
		Text:  text,
		Cut:   cut,
		About: m.About,
		At:    events.Millis(m.At),
	}
}
