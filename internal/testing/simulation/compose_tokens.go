package simulation

import (
	"fmt"
	"strings"
)

// What the composer draws for tokens that expire, tokens created by tokens, and what they may still do.

// tokenNames are the names of tokens in a run about tokens. Tokens of these names are created, revoked and created
// again.
var tokenNames = []string{"ann", "bob", "cat", "dan", "eve", "fay", "gus"}

// drawTokenMakerWish draws an action of a token's holder: create another token, revoke one, or write, whether the token
// is still valid or not.
func (c composer) drawTokenMakerWish() wish {
	var named, brief, over, makers []string
	for _, name := range tokenNames {
		t, known := c.m.tokens[name]
		switch {
		case !known || t.Kind != "admin":
		case c.m.good(name) && t.ExpiresAt > 0:
			brief = append(brief, name)
		case c.m.good(name):
			named = append(named, name)
		default:
			over = append(over, name)
		}
		if len(c.m.tokens[name].Made) > 0 {
			makers = append(makers, name)
		}
	}
	by := admin
	switch n := c.IntN(100); {
	case n < 30 && len(brief) > 0:
		by = caller{kind: "admin", name: pick(c, brief)}
	case n < 55 && len(named) > 0:
		by = caller{kind: "admin", name: pick(c, named)}
	case n < 70 && len(over) > 0:
		by = caller{kind: "admin", name: pick(c, over)}
	}
	switch n := c.IntN(100); {
	case n < 45:
		return c.makeToken(by)
	case n < 75:
		f := fields{Name: ptr(pick(c, tokenNames)), KeepChildren: c.chance(30)}
		if len(makers) > 0 && c.chance(75) {
			f.Name = ptr(pick(c, makers))
		}
		return wish{by: by, id: "token:revoke", fields: f}
	}
	return c.wish(by, pick(c, []string{"task:create", "task:update", "session:note"}))
}

// makeToken draws a name that no token has now, if there is one. Most of the tokens can create others.
func (c composer) makeToken(by caller) wish {
	var free []string
	for _, name := range tokenNames {
		if !c.m.good(name) {
			free = append(free, name)
		}
	}
	if len(free) == 0 || c.chance(10) {
		free = tokenNames
	}
	f := fields{Name: ptr(pick(c, free)), Kind: "admin"}
	if c.chance(10) {
		f.Kind = "auditor"
	}
	switch {
	case c.chance(35):
		f.ExpiresIn = pick(c, []int64{1, 500, 5_000, 20_000, 100_000, 100_000})
	case c.chance(20):
		f.ExpiresAt = c.m.at + pick(c, []int64{0, 500, 5_000, 20_000})
	}
	return wish{by: by, id: "token:create", fields: f}
}

// fillTokenUse draws a use of a token. There are more addresses than the log notes of one token.
func (c composer) fillTokenUse(f *fields) {
	f.Project = ""
	f.Name = ptr(pick(c, []string{"admin", "admin", "ann", "ann", "bob", "eve", "none", "", "a b"}))
	if t, known := c.m.tokens[*f.Name]; known {
		f.Generation = t.Generation
	}
	if c.chance(5) {
		f.Generation++
	}
	f.Address = fmt.Sprintf("192.0.2.%d", c.IntN(20))
	if c.chance(4) {
		f.Address = pick(c, []string{"", "two\nlines", strings.Repeat("a", 201)})
	}
	if c.chance(20) {
		f.LoginUntil = c.m.at + pick(c, []int64{-1_000, 20_000, 3_600_000})
	}
}

// fillRedaction draws a redaction of one of a few texts.
func (c composer) fillRedaction(f *fields) {
	f.Project = ""
	f.Text = "sha256-" + strings.Repeat(pick(c, []string{"0", "1", "a", "f"}), 64)
	f.Reason = pick(c, []string{"it held a password", "a customer asked", "two\nlines", " ", ""})
	if c.chance(5) {
		f.Text = pick(c, []string{"", "sha256-0", strings.ToUpper(f.Text)})
	}
}
