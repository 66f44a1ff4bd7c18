package oracle

import "slices"

type token struct {
	kind       string
	live       bool
	generation int
}

type tokenCreated struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	ProjectIDs []string `json:"projectIds"`
	Generation int      `json:"generation"`
}

func (f *tokenCreated) about() (kind, id string) { return "token", f.Name }
func (f *tokenCreated) commands() []string       { return []string{"token:create"} }

func (f *tokenCreated) judge(c *trial) {
	if f.Name == "" || f.Name == "admin" {
		c.fault(ruleToken, "no token is named %q", f.Name)
	}
	if !slices.Contains([]string{"admin", "auditor", "read-only"}, f.Kind) {
		c.fault(ruleToken, "%q is no kind of token", f.Kind)
	}
	if (f.Kind == "read-only") != (len(f.ProjectIDs) > 0) {
		c.fault(ruleToken, "a token of kind %s has %d projects; read-only ones have some, others none", f.Kind, len(f.ProjectIDs))
	}
	generation := 1
	if t := c.tokens[f.Name]; t != nil {
		generation = t.generation + 1
		if t.live {
			c.fault(ruleToken, "there is a live token %s", f.Name)
		}
	}
	if f.Generation != generation {
		c.fault(ruleToken, "it says generation %d, and it is the token's %d.", f.Generation, generation)
	}
}

func (f *tokenCreated) fold(c *trial) {
	c.tokens[f.Name] = &token{kind: f.Kind, live: true, generation: f.Generation}
}

type tokenRevoked struct {
	Name       string `json:"name"`
	SessionID  string `json:"sessionId"`
	Generation int    `json:"generation"`
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
		c.fault(ruleToken, "it revokes either a named token or a session's secret")
		return
	}
	if f.SessionID != "" {
		f.ofSession(c)
		return
	}
	t := c.tokens[f.Name]
	if t == nil || !t.live {
		c.fault(ruleToken, "there is no live token %q", f.Name)
		return
	}
	// Whether it names the secret that was good or the one that will be, the documents leave open.
	if f.Generation != t.generation && f.Generation != t.generation+1 {
		c.fault(ruleToken, "it says generation %d, and the secret so far was of generation %d", f.Generation, t.generation)
	}
}

func (f *tokenRevoked) ofSession(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil {
		c.fault(ruleExists, "there is no session %q", f.SessionID)
		return
	}
	if f.Generation != s.generation+1 {
		c.fault(ruleToken, "it says generation %d, and the secret so far was of generation %d", f.Generation, s.generation)
	}
}

func (f *tokenRevoked) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.generation = f.Generation
	}
	// A named token keeps its generation: the next secret is only good once it is created again.
	if t := c.tokens[f.Name]; t != nil && f.SessionID == "" {
		t.live = false
	}
}
