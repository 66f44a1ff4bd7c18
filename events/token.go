package events

import (
	"fmt"
	"strings"
)

// TokenKind is the kind of a named token.
type TokenKind string

// The kinds of token: an admin may do what the permission table gives the user, an auditor reads everything, a
// read-only token reads its projects.
const (
	TokenAdmin    TokenKind = "admin"
	TokenAuditor  TokenKind = "auditor"
	TokenReadOnly TokenKind = "read-only"
)

// TokenCreated: a named token is valid from now on. Its secret is derived from the server's key and is not stored.
type TokenCreated struct {
	Name       string    `json:"name" doc:"its name; events that it causes have the source /users/<name>"`
	Kind       TokenKind `json:"kind" doc:"admin, auditor or read-only"`
	ProjectIDs []string  `json:"projectIds,omitempty" doc:"of a read-only token: the projects that it reads"`
	Generation int       `json:"generation" doc:"which of its secrets is valid"`
	ExpiresAt  int64     `json:"expiresAt,omitempty" doc:"when it expires, in milliseconds since 1970; never if absent"`
}

// TokenRevoked: a secret is no longer valid.
type TokenRevoked struct {
	Name       string `json:"name,omitempty" doc:"the named token"`
	SessionID  string `json:"sessionId,omitempty" doc:"or the session whose secret it is"`
	Generation int    `json:"generation" doc:"of a session: its new secret; of a named token: the revoked secret"`
	// Children are all tokens that it created, directly or not, and that were not revoked before.
	Children []string `json:"children,omitempty" doc:"the tokens that it made, directly or not, and that end with it"`
}

// MaxTokenAddresses is the maximum number of addresses that the log notes for one token.
const MaxTokenAddresses = 16

// TokenUsed: a user's token was used from an address for the first time, or a browser logged in with it.
type TokenUsed struct {
	Name       string `json:"name" doc:"the token; admin is the home's own"`
	Generation int    `json:"generation,omitempty" doc:"which of its secrets; absent for the home's own"`
	Address    string `json:"address" doc:"the address of the caller: an IPv4 address, or an IPv6 network of 64 bits"`
	LoginUntil int64  `json:"loginUntil,omitempty" doc:"of a browser's login: when it ends, in milliseconds since 1970"`
}

var tokenEvents = []Entry{
	entry[TokenCreated]("A named token is valid from now on."),
	entry[TokenRevoked]("A named token, or a session's secret, is no longer valid."),
	entry[TokenUsed]("A user's token is used from a new address, or a browser logs in with it."),
}

// EventType implements Data.
func (*TokenCreated) EventType() string { return "maestro.token.created.v1" }

// EventType implements Data.
func (*TokenRevoked) EventType() string { return "maestro.token.revoked.v1" }

// EventType implements Data.
func (*TokenUsed) EventType() string { return "maestro.token.used.v1" }

// Aggregate implements Data.
func (d *TokenUsed) Aggregate() (kind, id string) { return AggregateToken, d.Name }

// Aggregate implements Data.
func (d *TokenCreated) Aggregate() (kind, id string) { return AggregateToken, d.Name }

// Aggregate implements Data.
func (d *TokenRevoked) Aggregate() (kind, id string) {
	if d.SessionID != "" {
		return AggregateSession, d.SessionID
	}
	return AggregateToken, d.Name
}

// Describe implements Data.
func (d *TokenCreated) Describe() Description {
	return describe("created", "create", text(fmt.Sprintf(" the %s token %q", d.Kind, d.Name)))
}

// Describe implements Data.
func (d *TokenRevoked) Describe() Description {
	switch {
	case d.SessionID != "":
		return describe("revoked", "revoke", named(" the secret of session ", d.SessionID, " its secret"))
	case len(d.Children) > 0:
		return describe("revoked", "revoke",
			text(fmt.Sprintf(" the token %q and those that it made: %s", d.Name, strings.Join(d.Children, ", "))))
	}
	return describe("revoked", "revoke", text(fmt.Sprintf(" the token %q", d.Name)))
}

// Describe implements Data.
func (d *TokenUsed) Describe() Description {
	if d.LoginUntil != 0 {
		return describe("logged in", "log in",
			text(fmt.Sprintf(" a browser with the token %q from %s", d.Name, d.Address)))
	}
	return describe("noted", "note", text(fmt.Sprintf(" the first use of the token %q from %s", d.Name, d.Address)))
}

func (*TokenUsed) sealed()    {}
func (*TokenCreated) sealed() {}
func (*TokenRevoked) sealed() {}
