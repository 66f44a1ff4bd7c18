package simulation

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
