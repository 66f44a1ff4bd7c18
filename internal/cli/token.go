package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/projections"
	"maestro/service/wire"
)

func (a *Run) tokenCommand() *cobra.Command {
	return group(
		"token",
		"Tokens for people and programs, and the secrets of sessions",
		a.tokenCreate(),
		a.tokenList(),
		a.tokenRevoke(),
	)
}

// newToken is what the making of a secret answers as JSON.
type newToken struct {
	written
	Token string `json:"token,omitempty"`
}

func (a *Run) tokenCreate() *cobra.Command {
	var body commands.CreateToken
	var key string
	var projects []string
	var expires string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a named token, and print its secret",
		Args:  Takes(),
		Long: `Make a named token. An admin may do what you may, an auditor reads everything and writes nothing, a read-only one reads
the projects that it names.

With --expires it is refused after that time, and its open calls end. A token that expires makes only tokens that expire
no later.

The secret is not stored: asked again with the same --key, it is printed again.
With --quiet it is all that is printed.`,
		RunE: Running(func(ctx context.Context, _ []string) error {
			body.ProjectIDs = ids(projects)
			if err := expiry(expires, a.Wall(), &body); err != nil {
				return err
			}
			answer, err := a.send(ctx, "token:create", &body, key)
			if err != nil {
				return err
			}
			if quiet && !a.JSON {
				a.Print("%s\n", answer.Token)
				return nil
			}
			a.Result(newToken{writtenOf(answer, body.Name), answer.Token}, func() {
				a.Print(
					"Created the %s token %s; its secret, which is not stored:\n%s\n", body.Kind, body.Name,
					answer.Token,
				)
			})
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&body.Name, "name", "", "its name; what it does is recorded as of /users/<name>")
	f.StringVar((*string)(&body.Kind), "kind", "", "admin, auditor or read-only")
	f.StringSliceVar(&projects, "project", nil, "of a read-only token: the projects that it reads, with commas")
	f.StringVar(&expires, "expires", "",
		"when it expires: after a duration such as 24h or 30d, or at an RFC 3339 time; never if absent")
	Complete(cmd, "kind", string(events.TokenAdmin), string(events.TokenAuditor), string(events.TokenReadOnly))
	a.keyFlag(cmd, &key)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the secret only")
	return cmd
}

// expiry reads --expires. The server counts a duration from the time of the event.
func expiry(text string, now time.Time, body *commands.CreateToken) error {
	if text == "" {
		return nil
	}
	in, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 32)
		in = min(time.Duration(n), 100_000) * 24 * time.Hour
	}
	if err == nil && in < time.Millisecond {
		return failure.Usage("--expires %s is not in the future", text).WithNext("name a time in the future, such as 24h")
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

// tokenState says what has become of a token, and until when it is valid.
func tokenState(t wire.TokenView) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked " + instant(*t.RevokedAt)
	case t.Expired:
		return "expired " + instant(*t.ExpiresAt)
	case t.ExpiresAt != nil:
		return "valid until " + instant(*t.ExpiresAt)
	}
	return "valid"
}

// tokenUse says when a token was used last, and from where.
func tokenUse(t wire.TokenView) string {
	if t.LastUsedAt == nil {
		return "not used"
	}
	from := ""
	if t.LastUsedFrom != nil {
		from = *t.LastUsedFrom
	}
	return "used " + instant(*t.LastUsedAt) + prefixed(" from ", from)
}

func (a *Run) tokenList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the named tokens; never a secret", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			tokens, err := look(ctx, a, (*client.Client).Tokens)
			if err != nil {
				return err
			}
			list(a, tokens, "There are no named tokens", func(t wire.TokenView) []string {
				return []string{
					t.Name, string(t.Kind), tokenState(t), "made by " + who(t.CreatedBy), tokenUse(t),
					strings.Join(t.ProjectIDs, ", "),
				}
			})
			return nil
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *Run) tokenRevoke() *cobra.Command {
	var body commands.RevokeToken
	var key string
	var tree bool
	cmd := &cobra.Command{
		Use:   "revoke [NAME]",
		Short: "Revoke a token and those that it made, or a session's secret",
		Args:  Takes("[NAME]"),
		Long: `Revoke a named token and all tokens that it made, directly or not; or revoke a session's secret.
Their open calls end. With --keep-children the tokens that it made stay valid; revoke it again without --keep-children
to revoke those too.

Sessions that the token spawned go on; the command says how many there are.`,
		RunE: Running(func(ctx context.Context, args []string) error {
			body.Name = at(args, 0)
			switch {
			case body.Name != "" && body.SessionID != "":
				return failure.Usage("Name a token or --session, not both").WithNext("leave one of them out")
			case body.Name == "" && body.SessionID == "":
				return failure.Usage("Name a token or a session").
					WithNext("name one of them: `maestro token revoke NAME`, or --session ID")
			}
			if tree && body.SessionID == "" {
				return failure.Usage("--tree is for a session: a token has none below it")
			}
			answer, err := a.sendWith(ctx, "token:revoke", &body, client.Options{Key: key, Tree: tree})
			if err != nil {
				return err
			}
			if body.SessionID == "" {
				return a.revokedToken(ctx, answer, body)
			}
			a.Result(newToken{writtenOf(answer, body.SessionID), answer.Token}, func() {
				a.Print("Revoked the secret of session %s; its new one:\n%s\n", body.SessionID, answer.Token)
				a.below(answer, "revoke", "Revoked", "maestro token revoke --session "+body.SessionID+" --tree")
			})
			return nil
		}),
	}
	treeFlag(cmd, &tree, "of a session: revoke")
	cmd.Flags().StringVar(
		&body.SessionID,
		"session",
		"",
		"the session whose secret it is; it gets another one, which is printed",
	)
	cmd.Flags().BoolVar(&body.KeepChildren, "keep-children", false, "leave the tokens that it made valid")
	a.keyFlag(cmd, &key)
	return cmd
}

// madeBy gives the valid tokens that a token made, directly or not: those that would be revoked with it.
func (a *Run) madeBy(ctx context.Context, name string) ([]string, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := c.Do(ctx, "token:revoke", commands.RevokeToken{Name: name}, client.Options{DryRun: true})
	if err != nil {
		return nil, err
	}
	data, err := dataOf(answer)
	if revoked, ok := data.(*events.TokenRevoked); ok {
		return revoked.Children, nil
	}
	return nil, err
}

// revokedToken says what a revocation ended, and which sessions go on.
func (a *Run) revokedToken(ctx context.Context, answer client.Answer, body commands.RevokeToken) error {
	name := body.Name
	var revoked events.TokenRevoked
	if data, err := dataOf(answer); err == nil && data != nil {
		if d, ok := data.(*events.TokenRevoked); ok {
			revoked = *d
		}
	}
	a.wrote(answer, name, "Revoked the token %s%s", name, prefixed(", and those that it made: ",
		strings.Join(revoked.Children, ", ")))
	if a.JSON || a.dryRun {
		return nil
	}
	if body.KeepChildren {
		kept, err := a.madeBy(ctx, name)
		if err != nil {
			a.say("maestro: the tokens that it made cannot be seen: %s\n", err)
		}
		if len(kept) > 0 {
			a.Print("The tokens that it made stay valid: %s; to revoke them, run `maestro token revoke %s`\n",
				strings.Join(kept, ", "), name)
		}
	}
	sessions, err := ask(ctx, a, (*client.Client).Sessions, wire.SessionFilter{Brief: "true"})
	if err != nil {
		a.say("maestro: the sessions that it spawned cannot be seen: %s\n", err)
		return nil
	}
	makers := []string{projections.UserSource(name)}
	for _, child := range revoked.Children {
		makers = append(makers, projections.UserSource(child))
	}
	running := 0
	for _, s := range sessions {
		if slices.Contains(makers, s.CreatedBy) && s.EndedAt == nil {
			running++
		}
	}
	if running > 0 {
		are := "are"
		if running == 1 {
			are = "is"
		}
		a.Print("%s that it spawned %s still running; see `maestro session list`, and end one with "+
			"`maestro session kill ID`\n", Many(running, "session"), are)
	}
	return nil
}
