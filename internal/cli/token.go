package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func newToken(a *Run) *cobra.Command {
	return a.group(
		"token",
		"Tokens for people and programs, and the secrets of sessions",
		newTokenCreate(a),
		newTokenList(a),
		newTokenRevoke(a),
	)
}

// tokenMade is the JSON output of a command that creates a secret.
type tokenMade struct {
	written
	Token string `json:"token,omitempty"`
}

// tokenCreate is `maestro token create`.
type tokenCreate struct {
	*Run
	body    commands.CreateToken
	key     string
	expires string
	quiet   bool
}

func newTokenCreate(a *Run) *cobra.Command {
	c := &tokenCreate{Run: a}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a named token, and print its secret",
		Args:  Takes,
		Long: `Create a named token. An admin token may do what you may, an auditor token
reads everything and writes nothing, and a read-only token reads the projects
named by --project.

With --expires, the server refuses the token after that time, and ends its open
calls. A token that expires can only create tokens that expire no later.
Sessions that it spawned keep running with their own secrets; 'maestro token
list' and 'maestro status' name them.

The secret is not stored. To print it again, repeat the command with the same
--key. With --quiet, the command prints only the secret.`,
		RunE: Running(c.run),
	}
	bind(cmd, &c.body)
	cmd.Flags().StringVar(&c.expires, "expires", "",
		"when it expires: after a duration such as 24h or 30d, or at an RFC 3339 time; never if absent")
	ValueName(cmd, "expires", "<duration|time>")
	a.keyFlag(cmd, &c.key)
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "print the secret only")
	return Tell(cmd, "token:create", "name!", "kind!", "project")
}

func (c *tokenCreate) run(ctx context.Context, _ []string) error {
	if err := expiry(c.expires, c.Wall(), &c.body); err != nil {
		return err
	}
	answer, err := c.send(ctx, "token:create", &c.body, c.key)
	if err != nil {
		return err
	}
	c.warnOfSecret("keep it where only its owner reads it: `maestro token create … -q >FILE`")
	if c.quiet && !c.JSON {
		c.Print("%s\n", answer.Token)
		return nil
	}
	c.Result(tokenMade{writtenOf(answer, c.body.Name), answer.Token}, func() {
		c.Print(
			"Created the %s token %s; its secret, which is not stored:\n%s\n", c.body.Kind, c.body.Name,
			answer.Token,
		)
	})
	return nil
}

// expiry parses --expires. The server counts a duration from the time of the event.
func expiry(text string, now time.Time, body *commands.CreateToken) error {
	if text == "" {
		return nil
	}
	in, err := durationOf(text)
	if err == nil && in < time.Millisecond {
		return failure.Usage("--expires %s is not in the future", text).
			WithNext("name a time in the future, such as 24h")
	}
	if err == nil {
		body.ExpiresIn = in.Milliseconds()
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return failure.Usage(
			"--expires must be a duration such as 24h or 30d, or a time such as 2027-01-31T12:00:00Z, not %q", text,
		)
	}
	if !at.After(now) {
		return failure.Usage("--expires %s is in the past", text).WithNext("choose a later time")
	}
	body.ExpiresAt = at.UnixMilli()
	return nil
}

// tokenState returns a token's state, and its expiry.
func (a *Run) tokenState(t wire.TokenView) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked " + a.When(*t.RevokedAt)
	case t.Expired:
		return "expired " + a.When(*t.ExpiresAt)
	case t.ExpiresAt != nil:
		return "valid until " + a.When(*t.ExpiresAt)
	}
	return "valid"
}

// tokenUse returns when a token was used last, and from where.
func (a *Run) tokenUse(t wire.TokenView) string {
	if t.LastUsedAt == nil {
		return "not used"
	}
	from := ""
	if t.LastUsedFrom != nil {
		from = *t.LastUsedFrom
	}
	return "used " + a.When(*t.LastUsedAt) + Prefixed(" from ", from)
}

// tokenList is `maestro token list`.
type tokenList struct {
	*Run
}

func newTokenList(a *Run) *cobra.Command {
	c := &tokenList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the named tokens, without their secrets",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return Tell(cmd, "token:list")
}

func (c *tokenList) run(ctx context.Context, _ []string) error {
	tokens, err := Look(ctx, c.Run, (*client.Client).Tokens)
	if err != nil {
		return err
	}
	columns := []string{"NAME", "KIND", "STATUS", "CREATED BY", "USED", "PROJECTS"}
	List(c.Run, tokens, "There are no named tokens", columns, func(t wire.TokenView) []string {
		return []string{
			t.Name, string(t.Kind), c.tokenState(t), "created by " + Who(t.CreatedBy), c.tokenUse(t),
			strings.Join(t.ProjectIDs, ", "),
		}
	})
	tellSpawned(c.Run, tokens)
	return nil
}

// tellSpawned names the sessions that continue although the token that spawned them has expired.
func tellSpawned(a *Run, tokens []wire.TokenView) {
	for _, t := range tokens {
		if len(t.Running) == 0 {
			continue
		}
		ids := strings.Join(t.Running, ", ")
		if t.RunningMore > 0 {
			ids += fmt.Sprintf(" and %d more", t.RunningMore)
		}
		a.Say("Spawned by %s, which has expired, and still running: %s; %s\n", t.Name, ids, dealWithSpawned(t.Name))
	}
}

// dealWithSpawned advises what to do with the sessions of an expired token.
func dealWithSpawned(token string) string {
	return "end one with `maestro session kill <sessionId>`; " +
		"if they are to go on, run `maestro token revoke " + safetext.Quoted(token) + "`"
}

// tokenRevoke is `maestro token revoke`.
type tokenRevoke struct {
	*Run
	fields *fields
	body   commands.RevokeToken
	key    string
	tree   bool
}

func newTokenRevoke(a *Run) *cobra.Command {
	c := &tokenRevoke{Run: a}
	cmd := &cobra.Command{
		Use:   "revoke [<name>]",
		Short: "Revoke a token and the tokens created with it, or replace a session's secret",
		Args:  Takes,
		Long: `Revoke a named token and all tokens created with it, directly or indirectly; or
revoke a session's secret. Their open calls end. With --keep-children, the
tokens created with it stay valid; to revoke those too, revoke the token again
without --keep-children.

Sessions that the token spawned keep running; the command prints how many there
are.`,
		RunE: Running(c.run),
	}
	treeFlag(cmd, &c.tree, "with --session: revoke")
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "token:revoke", "session", "keep-children")
}

func (c *tokenRevoke) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	switch {
	case c.body.Name != "" && c.body.SessionID != "":
		return failure.Usage("Name a token or --session, not both").WithNext("leave one of them out")
	case c.body.Name == "" && c.body.SessionID == "":
		return failure.Usage("Name a token or a session").
			WithNext("name one of them: `maestro token revoke NAME`, or --session ID")
	}
	if c.tree && c.body.SessionID == "" {
		return failure.Usage("--tree is for a session: a token has none below it")
	}
	answer, err := c.sendWith(ctx, "token:revoke", &c.body, client.Options{Key: c.key, Tree: c.tree})
	if err != nil {
		return err
	}
	if c.body.SessionID == "" {
		return showRevoked(c.Run, answer, c.body.Name)
	}
	c.Result(tokenMade{writtenOf(answer, c.body.SessionID), answer.Token}, func() {
		c.Print("Revoked the secret of session %s; its new one:\n%s\n", c.body.SessionID, answer.Token)
		tellBelow(c.Run, answer, "revoke", "Revoked", "maestro token revoke --session "+c.body.SessionID+" --tree")
	})
	return nil
}

// showRevoked shows what a revocation ended, and what continues.
func showRevoked(a *Run, answer client.Answer, name string) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	with := ""
	if revoked, ok := data.(*events.TokenRevoked); ok {
		with = Prefixed(", and the tokens created with it: ", strings.Join(revoked.Children, ", "))
	}
	a.wrote(answer, name, "Revoked the token %s%s", name, with)
	left := answer.Revoked
	if a.JSON || left == nil {
		return nil
	}
	if len(left.Kept) > 0 {
		a.Print("The tokens created with it stay valid: %s; to revoke them, run `maestro token revoke %s`\n",
			strings.Join(left.Kept, ", "), safetext.Quoted(name))
	}
	if left.Running > 0 {
		are := "are"
		if left.Running == 1 {
			are = "is"
		}
		a.Print("%s that it spawned %s still running; see `maestro session list`, and end one with "+
			"`maestro session kill <sessionId>`\n", Many(left.Running, "session"), are)
	}
	return nil
}
