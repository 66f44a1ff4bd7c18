package oracle

import (
	"slices"
	"unicode/utf8"
)

// maxOrigins is how many addresses of a token the log notes.
const maxOrigins = 16

// tokenOrigins are the addresses of one generation of a token.
type tokenOrigins struct {
	generation int
	addresses  []string
}

type tokenUsed struct {
	Name       string `json:"name"`
	Generation int    `json:"generation"`
	Address    string `json:"address"`
	LoginUntil int64  `json:"loginUntil"`
}

func (f *tokenUsed) about() (kind, id string) { return "token", f.Name }
func (f *tokenUsed) commands() []string       { return []string{"token:used"} }

// known reports whether the log has nothing to note about a use from the address.
func (f *tokenUsed) known(j *Judge) bool {
	o := j.origins[f.Name]
	return o != nil && o.generation == f.Generation &&
		(len(o.addresses) >= maxOrigins || slices.Contains(o.addresses, f.Address))
}

func (f *tokenUsed) judge(c *trial) {
	if t := c.tokens[f.Name]; f.Name != "admin" && (!t.good(c.at()) || t.generation != f.Generation) {
		c.fault(ruleToken, "%q is not a valid token of generation %d", f.Name, f.Generation)
	}
	if f.Name == "admin" && f.Generation != 0 {
		c.fault(ruleToken, "the home's own token has generation %d", f.Generation)
	}
	if f.Address == "" || utf8.RuneCountInString(f.Address) > 200 {
		c.fault(ruleToken, "%q is not an address", f.Address)
	}
	switch {
	case f.LoginUntil != 0 && f.LoginUntil <= c.at():
		c.fault(ruleToken, "the login ends at %d, before it begins", f.LoginUntil)
	case f.LoginUntil == 0 && f.known(c.Judge):
		c.fault(ruleToken, "the use of %s from %s was noted before", f.Name, f.Address)
	}
}

func (f *tokenUsed) fold(c *trial) {
	o := c.origins[f.Name]
	if o == nil || o.generation != f.Generation {
		o = &tokenOrigins{generation: f.Generation}
		c.origins[f.Name] = o
	}
	if !f.known(c.Judge) {
		o.addresses = append(o.addresses, f.Address)
	}
}

func (a *asked) useToken() fact {
	f := a.f
	if f.Name == nil || !isID(*f.Name) || f.Address == "" || hasControl(f.Address) ||
		utf8.RuneCountInString(f.Address) > 200 {
		return a.no(codeInvalid)
	}
	used := &tokenUsed{
		Name:       *f.Name,
		Generation: f.Generation,
		Address:    f.Address,
		LoginUntil: f.LoginUntil,
	}
	if f.LoginUntil != 0 && f.LoginUntil <= a.at() {
		a.refuse(codeRule)
	}
	switch t := a.tokens[used.Name]; {
	case used.Name == "admin" && f.Generation != 0:
		return a.no(codeInvalid)
	case used.Name == "admin":
	case t == nil:
		return a.no(codeFound)
	case !a.refused() && (!t.good(a.at()) || t.generation != f.Generation):
		return a.so()
	}
	if !a.refused() && f.LoginUntil == 0 && used.known(a.Judge) {
		return a.so()
	}
	return used
}
