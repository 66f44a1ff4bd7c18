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
	switch a.spawner(s); {
	case a.by.kind == bySession && s.ended == endDeleted:
		return a.no(codeAllowed)
	case a.refused():
		return nil
	case q.answered && q.answer == a.f.Answer:
		return a.so()
	case q.answered || s.ended != "":
		return a.no(codeConflict)
	case strings.TrimSpace(a.f.Answer) == "":
		return a.no(codeInvalid)
	}
	other := a.f.Other && !slices.Contains(q.options, a.f.Answer)
	return &inputAnswered{InputID: a.f.InputID, SessionID: q.session, Answer: a.f.Answer, Other: other}
}

func (a *asked) receiveInput() fact {
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

func (a *asked) createToken() fact {
	f := a.f
	switch {
	case f.Name == nil || !isID(*f.Name):
		return a.no(codeInvalid)
	case f.ExpiresAt != 0 && f.ExpiresIn != 0, f.ExpiresIn < 0, f.ExpiresAt < 0:
		a.refuse(codeInvalid)
	}
	for _, id := range f.ProjectIDs {
		a.liveProject(id)
	}
	created := &tokenCreated{
		Name:       *f.Name,
		Kind:       f.Kind,
		ProjectIDs: f.ProjectIDs,
		Generation: 1,
		ExpiresAt:  f.ExpiresAt,
	}
	if t := a.tokens[*f.Name]; t != nil {
		created.Generation = t.generation + 1
	}
	if f.ExpiresIn != 0 {
		created.ExpiresAt = a.at() + f.ExpiresIn
	}
	if maker := a.tokens[a.by.id]; maker != nil && created.ExpiresAt == 0 {
		created.ExpiresAt = maker.expires
	}
	return created
}

func (a *asked) revokeToken() fact {
	f := a.f
	name := ""
	if f.Name != nil {
		name = *f.Name
	}
	switch {
	case (name == "") == (f.SessionID == ""), f.SessionID != "" && f.KeepChildren:
		return a.no(codeInvalid)
	case f.SessionID != "":
		s := a.sessions[f.SessionID]
		if s == nil || s.ended == endDeleted {
			return a.no(codeFound)
		}
		return &tokenRevoked{SessionID: s.id, Generation: s.generation + 1}
	case !isID(name):
		return a.no(codeInvalid)
	case name == "admin":
		return a.no(codeRule)
	}
	t := a.tokens[name]
	if t == nil {
		return a.no(codeFound)
	}
	revoked := &tokenRevoked{Name: name, Generation: t.generation}
	if !f.KeepChildren {
		revoked.Children = a.made(name)
	}
	if !t.live && len(revoked.Children) == 0 {
		return a.so()
	}
	return revoked
}

// made gives the live tokens that the tokens of a name made, and that those made.
func (j *Judge) made(name string) []string {
	var names []string
	for child, t := range j.tokens {
		if t.live && child != name && t.madeBy(name) {
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return names
}

func (a *asked) loseSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case !s.mayBeLost():
		return a.so()
	}
	return &sessionLost{SessionID: s.id, LastHeard: a.at() - a.f.SilentFor, Lease: a.f.Lease}
}

// mayBeLost reports whether silence of a session matters: one that said it is done, and holds nothing, may be silent.
func (s *session) mayBeLost() bool {
	return s.ended == "" && !s.lost && (s.status != completed || s.holds != nil)
}

func (a *asked) recoverSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case !s.lost || s.ended != "":
		return a.so()
	}
	return &sessionRecovered{SessionID: s.id}
}

func (a *asked) timeOutSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case s.ended != "":
		return a.so()
	}
	return &sessionTimedOut{SessionID: s.id, Deadline: s.deadline()}
}

// deadline is when the session's time is over, in milliseconds since 1970; 0 if never.
func (s *session) deadline() int64 {
	if s.timeout == 0 {
		return 0
	}
	return s.born.Add(s.timeout).UnixMilli()
}
