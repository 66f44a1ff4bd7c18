package service

import (
	"maestro/projections"
	"maestro/service/wire"
)

// mailListed bounds how much mail one read shows; what was received makes room for the rest.
const mailListed = 20

// GetMail gives what waits for a session, oldest first: answers to its questions, and messages. A session reads its
// own; whoever may see the session may see its mail.
func (v View) GetMail(in *wire.SessionID) (wire.Mailbox, error) {
	row := "session:info"
	if in.ID == v.Caller.By.Name {
		row = "whoami"
	}
	x, err := v.PermitSession(row, in.ID)
	if err != nil {
		return wire.Mailbox{}, err
	}
	waiting := v.Undelivered(x.ID)
	listed := waiting[:min(len(waiting), mailListed)]
	box := wire.Mailbox{Mail: make([]wire.Mail, 0, len(listed)), More: len(waiting) - len(listed)}
	for _, id := range listed {
		if message := x.Message(id); message != nil {
			box.Mail = append(box.Mail, mailOf(message))
			continue
		}
		asked := v.Input(id)
		box.Mail = append(box.Mail, wire.Mail{
			ID:       id,
			Kind:     wire.MailAnswer,
			From:     asked.AnsweredBy,
			Text:     asked.Answer,
			Question: asked.Question,
			At:       asked.AnsweredAt,
		})
	}
	return box, nil
}

func mailOf(m *projections.Message) wire.Mail {
	return wire.Mail{
		ID:    m.ID,
		Kind:  wire.MailMessage,
		From:  m.From,
		Text:  m.Text,
		About: m.About,
		At:    m.At,
	}
}
