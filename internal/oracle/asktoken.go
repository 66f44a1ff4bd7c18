package oracle

import (
	"slices"
)

// reservedTokens are the names of other actors, which no token may have besides the first one's.
var reservedTokens = []string{"system", "runner"}

func (a *asked) createToken() fact {
	f := a.f
	switch {
	case f.Name == nil || !isID(*f.Name), a.thirdOn() && slices.Contains(reservedTokens, *f.Name):
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

// made returns the live tokens that the tokens of a name created, directly or not.
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
