package oracle

import "slices"

type token struct {
	kind       string
	live       bool
	generation int
	expires    int64
	// makerName is the user that created it, and maker which of that name's tokens it was; nil for the home's own.
	makerName string
	maker     *token
}

// madeBy reports whether a token of a name created it, directly or not, even if those in between are revoked.
func (t *token) madeBy(name string) bool {
	for ; t != nil; t = t.maker {
		if t.makerName == name {
			return true
		}
	}
	return false
}

// good reports whether the token is neither revoked nor expired at a time in milliseconds since 1970.
func (t *token) good(at int64) bool { return t != nil && t.live && (t.expires == 0 || at < t.expires) }

type tokenCreated struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	ProjectIDs []string `json:"projectIds"`
	Generation int      `json:"generation"`
	ExpiresAt  int64    `json:"expiresAt"`
}

func (f *tokenCreated) about() (kind, id string) { return "token", f.Name }
func (f *tokenCreated) commands() []string       { return []string{"token:create"} }

func (f *tokenCreated) judge(c *trial) {
	if f.Name == "" || f.Name == "admin" {
		c.fault(ruleToken, "%q is not a valid name for a token", f.Name)
	}
	if c.thirdOn() && slices.Contains(reservedTokens, f.Name) {
		c.fault(ruleToken, "%q is the name of another actor", f.Name)
	}
	if !slices.Contains([]string{"admin", "auditor", "read-only"}, f.Kind) {
		c.fault(ruleToken, "%q is not a kind of token", f.Kind)
	}
	if (f.Kind == "read-only") != (len(f.ProjectIDs) > 0) {
		c.fault(
			ruleToken,
			"a token of kind %s cannot have %d projects: a read-only token has at least one, any other has none",
			f.Kind,
			len(f.ProjectIDs),
		)
	}
	generation := 1
	if t := c.tokens[f.Name]; t != nil {
		generation = t.generation + 1
		if t.good(c.at()) {
			c.fault(ruleToken, "a valid token %s already exists", f.Name)
		}
	}
	if f.Generation != generation {
		c.fault(ruleToken, "the event says generation %d, expected %d", f.Generation, generation)
	}
	f.expiry(c)
}

// expiry judges that the token has a lifetime, and does not outlive the one that created it.
func (f *tokenCreated) expiry(c *trial) {
	if f.ExpiresAt != 0 && f.ExpiresAt <= c.at() {
		c.fault(ruleToken, "it is created at %d, but expires at %d", c.at(), f.ExpiresAt)
	}
	if maker := c.tokens[c.by.id]; c.by.kind == byUser && maker != nil && maker.expires != 0 &&
		(f.ExpiresAt == 0 || f.ExpiresAt > maker.expires) {
		c.fault(ruleToken, "it expires at %d, after the token that creates it at %d", f.ExpiresAt, maker.expires)
	}
}

func (f *tokenCreated) fold(c *trial) {
	made := &token{
		kind:       f.Kind,
		live:       true,
		generation: f.Generation,
		expires:    f.ExpiresAt,
	}
	if maker := c.tokens[c.by.id]; c.by.kind == byUser && maker != nil {
		made.makerName, made.maker = c.by.id, maker
	}
	c.tokens[f.Name] = made
}

type tokenRevoked struct {
	Name       string `json:"name"`
	SessionID  string `json:"sessionId"`
	Generation int    `json:"generation"`
	// Children are revoked with it.
	Children []string `json:"children"`
}

func (f *tokenRevoked) about() (kind, id string) {
	if f.SessionID != "" {
		return "session", f.SessionID
	}
	return "token", f.Name
}

func (f *tokenRevoked) commands() []string { return []string{"token:revoke"} }

func (f *tokenRevoked) judge(c *trial) {
	if (f.Name == "") == (f.SessionID == "") {
		c.fault(ruleToken, "it must revoke either a named token or a session's secret")
		return
	}
	if f.SessionID != "" {
		if len(f.Children) > 0 {
			c.fault(ruleToken, "a session's secret has no children, but the event names %v", f.Children)
		}
		f.checkSession(c)
		return
	}
	t := c.tokens[f.Name]
	// A token that is already revoked can be named again, to revoke the children that it kept.
	if t == nil || !t.live && len(f.Children) == 0 {
		c.fault(ruleToken, "%q is not a valid token", f.Name)
		return
	}
	// The documents do not say whether it names the old generation or the next one.
	if f.Generation != t.generation && f.Generation != t.generation+1 {
		c.fault(
			ruleToken,
			"the event says generation %d, but the current secret has generation %d",
			f.Generation,
			t.generation,
		)
	}
	f.children(c)
}

// children judges that exactly those tokens are revoked with it that it created, directly or not. A caller that is
// neither it nor one of them may keep all of them.
func (f *tokenRevoked) children(c *trial) {
	within := map[string]bool{}
	for name, t := range c.tokens {
		if t.live && name != f.Name && t.madeBy(f.Name) {
			within[name] = true
		}
	}
	if len(f.Children) == 0 {
		if c.thirdOn() && len(within) > 0 && c.by.kind == byUser && (c.by.id == f.Name || within[c.by.id]) {
			c.fault(ruleToken, "%s may not keep the tokens that %s created", c.by.id, f.Name)
		}
		return
	}
	for i, name := range f.Children {
		if !within[name] || slices.Contains(f.Children[:i], name) {
			c.fault(ruleToken, "it also revokes %q, which %s did not create", name, f.Name)
		}
	}
	for name := range within {
		if !slices.Contains(f.Children, name) {
			c.fault(ruleToken, "it revokes some of the tokens that %s created, but not %q", f.Name, name)
		}
	}
}

func (f *tokenRevoked) checkSession(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil {
		c.fault(ruleExists, "session %q does not exist", f.SessionID)
		return
	}
	if f.Generation != s.generation+1 {
		c.fault(
			ruleToken,
			"the event says generation %d, but the current secret has generation %d",
			f.Generation,
			s.generation,
		)
	}
}

func (f *tokenRevoked) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.generation = f.Generation
	}
	// A named token keeps its generation: the next secret is only valid once the token is created again.
	if t := c.tokens[f.Name]; t != nil && f.SessionID == "" {
		t.live = false
		for _, name := range f.Children {
			if child := c.tokens[name]; child != nil {
				child.live = false
			}
		}
	}
}
