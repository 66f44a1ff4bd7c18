package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// question is one that a session asked. Contract, "Needs input".
type question struct {
	project, session    string
	options             []string
	answer              string
	answered, delivered bool
	asked, replied      cause
}

// token is a named token.
type token struct {
	kind       string
	live       bool
	generation int
	expires    int64    // 0 for never
	line       []string // the token that made it, and which of that name's, the one that made that, and so on
}

// is names one token of a name's.
func (t token) is(name string) string { return fmt.Sprintf("%s, generation %d", name, t.generation) }

// good reports whether a token is neither revoked nor expired.
func (t token) good(at int64) bool { return t.live && (t.expires == 0 || at < t.expires) }

// moments gives the times at which a call may come to different verdicts: the first and the last at which it may have
// been decided, and when a token expires in between.
func (m *model) moments(c *call) []int64 {
	times := []int64{c.earliest, c.latest}
	between := func(at int64) {
		if c.earliest < at && at < c.latest {
			times = append(times, at)
		}
	}
	between(c.wish.fields.ExpiresAt)
	for _, t := range m.tokens {
		between(t.expires)
	}
	return times
}

// madeBy gives the live tokens that the tokens of a name made, and that those made.
func (m *model) madeBy(name string) []string {
	var names []string
	for child, t := range m.tokens {
		if t.live && child != name && slices.ContainsFunc(t.line, func(maker string) bool {
			return strings.HasPrefix(maker, name+", ")
		}) {
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) ask(w wish, d made) {
	m.inputs[d.InputID] = question{project: m.projectOf(w), session: w.by.name, options: w.fields.Options, asked: d.me}
	m.inputIDs = append(m.inputIDs, d.InputID)
}

// open reports whether a question still needs its answer.
func (m *model) open(q question) bool {
	x, live := m.liveSession(q.session)
	return !q.answered && live && !x.ended
}

// nextInput folds what a command on a question or a token became.
func (m *model) nextInput(before *model, w wish, d made) error {
	f := w.fields
	switch w.id {
	case "input:answer":
		q := m.inputs[f.InputID]
		other := f.Other && !contains(q.options, f.Answer)
		if d.InputID != f.InputID || d.SessionID != q.session || d.Answer != f.Answer || d.Other != other {
			return fmt.Errorf("the answer %q to %q became %q to %q of session %q (other: %t)", f.Answer, f.InputID, d.Answer, d.InputID, d.SessionID, d.Other)
		}
		q.answered, q.answer, q.replied = true, f.Answer, d.me
		m.inputs[f.InputID] = q
	case "input:received":
		q := m.inputs[f.InputID]
		q.delivered = true
		m.inputs[f.InputID] = q
	case "token:create":
		t := m.tokens[*f.Name]
		t = token{kind: f.Kind, live: true, generation: t.generation + 1, expires: before.expiry(w, m.at)}
		if maker, named := before.tokens[w.by.name]; named {
			t.line = append([]string{maker.is(w.by.name)}, maker.line...)
		}
		if d.ExpiresAt != t.expires {
			return fmt.Errorf("the token %q expires at %d, expected %d", *f.Name, d.ExpiresAt, t.expires)
		}
		if d.Name != *f.Name || d.Kind != f.Kind || d.Generation != t.generation {
			return fmt.Errorf("the token %q (%s) became %q (%s) of generation %d, expected %d", *f.Name, f.Kind, d.Name, d.Kind, d.Generation, t.generation)
		}
		m.tokens[*f.Name] = t
	case "token:revoke":
		if f.SessionID != "" {
			x := m.sessions[f.SessionID]
			x.generation++
			if d.SessionID != f.SessionID || d.Generation != x.generation {
				return fmt.Errorf("the revocation left session %q generation %d, expected %d", d.SessionID, d.Generation, x.generation)
			}
			m.sessions[f.SessionID] = x
			return nil
		}
		t := m.tokens[*f.Name]
		var children []string
		if !f.KeepChildren {
			children = before.madeBy(*f.Name)
		}
		if revoked := slices.Sorted(slices.Values(d.Children)); !slices.Equal(revoked, children) {
			return fmt.Errorf("with the token %q the tokens %v were revoked, expected %v", *f.Name, revoked, children)
		}
		t.live = false
		m.tokens[*f.Name] = t
		for _, name := range children {
			t := m.tokens[name]
			t.live = false
			m.tokens[name] = t
		}
	}
	return nil
}

func (m *model) judgeInput(w wish) verdict {
	f := w.fields
	q, known := m.inputs[f.InputID]
	switch {
	case badID(f.InputID):
		return isInvalid
	case !known:
		return notFound
	}
	if w.id == "input:received" {
		switch {
		case q.session != w.by.name:
			return notAllowed
		case q.delivered:
			return alreadySo
		case !q.answered:
			return againstRule
		}
		return becomesEvent
	}
	x, live := m.liveSession(q.session)
	switch {
	case w.by.kind == "session" && (!live || x.spawnedBy != w.by.name):
		return notAllowed
	case q.answered && q.answer == f.Answer:
		return alreadySo
	case q.answered, !m.open(q):
		return isConflict
	case strings.TrimSpace(f.Answer) == "":
		return isInvalid
	case len(q.options) > 0 && !f.Other && !contains(q.options, f.Answer):
		return isInvalid
	}
	return becomesEvent
}

// judgeOptions judges the answers that a report offers.
func judgeOptions(w wish) verdict {
	options := w.fields.Options
	switch {
	case len(options) == 0:
		return becomesEvent
	case w.id != "report:needs-input", w.fields.Message == "", len(options) > 20:
		return isInvalid
	}
	for i, option := range options {
		if strings.TrimSpace(option) == "" || slices.Contains(options[:i], option) {
			return isInvalid
		}
	}
	return becomesEvent
}

// expiry gives when a token that is made at a time expires: not behind its maker.
func (m *model) expiry(w wish, at int64) int64 {
	expires := w.fields.ExpiresAt
	if w.fields.ExpiresIn != 0 {
		expires = at + w.fields.ExpiresIn
	}
	if expires == 0 {
		expires = m.tokens[w.by.name].expires
	}
	return expires
}

func (m *model) judgeToken(w wish, at int64) verdict {
	f := w.fields
	name := ""
	if f.Name != nil {
		name = *f.Name
	}
	if w.id == "token:create" {
		if badID(name) || !contains([]string{"admin", "auditor", "read-only"}, f.Kind) || (f.Kind == "read-only") != (len(f.ProjectIDs) > 0) {
			return isInvalid
		}
		for _, id := range f.ProjectIDs {
			if _, live := m.liveProject(id); !live {
				return notFound
			}
		}
		maker := m.tokens[w.by.name].expires
		switch {
		case f.ExpiresAt != 0 && f.ExpiresIn != 0, f.ExpiresIn < 0, f.ExpiresAt < 0, f.ExpiresAt != 0 &&
			f.ExpiresAt <= max(at, m.at):
			return isInvalid
		case maker != 0 && m.expiry(w, at) > maker:
			return againstRule
		case name == "admin" || m.tokens[name].good(at):
			return isConflict
		}
		return becomesEvent
	}
	t, known := m.tokens[name]
	switch {
	case (name == "") == (f.SessionID == ""), f.SessionID != "" && f.KeepChildren:
		return isInvalid
	case f.SessionID != "":
		if _, live := m.liveSession(f.SessionID); !live {
			return notFound
		}
		return becomesEvent
	case badID(name):
		return isInvalid
	case name == "admin":
		return againstRule
	case !known:
		return notFound
	case !t.live && (f.KeepChildren || len(m.madeBy(name)) == 0):
		return alreadySo
	case f.KeepChildren && len(m.madeBy(name)) > 0 && (w.by.name == name || contains(m.madeBy(name), w.by.name)):
		return againstRule
	}
	return becomesEvent
}
