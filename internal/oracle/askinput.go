package oracle

import (
	"slices"
	"strings"
)

func (a *asked) question() *question {
	q := a.questions[a.f.InputID]
	switch {
	case !isID(a.f.InputID):
		a.refuse(codeInvalid)
	case q == nil:
		a.refuse(codeFound)
	}
	return q
}

func (a *asked) answerInput() fact {
	q := a.question()
	if a.refused() {
		return nil
	}
	s := a.sessions[q.session]
	switch a.leader(s); {
	case a.by.kind == bySession && s.ended == endDeleted:
		return a.no(codeAllowed)
	case a.refused():
		return nil
	case q.answered && q.answer == a.f.Answer && q.run == 0:
		return a.so()
	case q.answered || s.ended != "":
		return a.no(codeConflict)
	case strings.TrimSpace(a.f.Answer) == "":
		return a.no(codeInvalid)
	}
	other := a.f.Other && !slices.Contains(q.options, a.f.Answer)
	return &inputAnswered{
		InputID:   a.f.InputID,
		SessionID: q.session,
		TaskIDs:   q.tasks,
		Answer:    a.f.Answer,
		Other:     other,
	}
}

func (a *asked) receiveInput() fact {
	if a.sessions[a.by.id].mail[a.f.InputID].event != "" {
		return &inputDelivered{InputID: a.f.InputID, SessionID: a.by.id}
	}
	q := a.question()
	switch {
	case a.refused():
		return nil
	case q.session != a.by.id:
		return a.no(codeAllowed)
	case q.delivered:
		return a.so()
	}
	return &inputDelivered{InputID: a.f.InputID, SessionID: q.session}
}
