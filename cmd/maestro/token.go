package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

func (a *app) tokenCommand() *cobra.Command {
	return group("token", "Tokens for people and programs, and the secrets of sessions", a.tokenCreate(), a.tokenList(), a.tokenRevoke())
}

// newToken is what the making of a secret answers as JSON.
type newToken struct {
	written
	Token string `json:"token,omitempty"`
}

func (a *app) tokenCreate() *cobra.Command {
	var body commands.CreateToken
	var key string
	var projects []string
	var quiet bool
	cmd := &cobra.Command{
		Use: "create", Short: "Make a named token, and print its secret", Args: takes(),
		Long: `Make a named token. An admin may do what you may, an auditor reads everything and writes nothing, a read-only one reads
the projects that it names.

The secret stands nowhere: asked again with the same --key, it is printed again. With --quiet it is all that is printed.`,
		RunE: running(func(ctx context.Context, _ []string) error {
			body.ProjectIDs = ids(projects)
			answer, err := a.send(ctx, "token:create", &body, key)
			if err != nil {
				return err
			}
			if quiet && !a.json {
				a.print("%s\n", answer.Token)
				return nil
			}
			a.result(newToken{writtenOf(answer, body.Name), answer.Token}, func() {
				a.print("Created the %s token %s; its secret, which stands nowhere:\n%s\n", body.Kind, body.Name, answer.Token)
			})
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&body.Name, "name", "", "its name; what it does is recorded as of /users/<name>")
	f.StringVar((*string)(&body.Kind), "kind", "", "admin, auditor or read-only")
	f.StringSliceVar(&projects, "project", nil, "of a read-only token: the projects that it reads, with commas")
	complete(cmd, "kind", string(events.TokenAdmin), string(events.TokenAuditor), string(events.TokenReadOnly))
	a.keyFlag(cmd, &key)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the secret only")
	return cmd
}

func (a *app) tokenList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the named tokens; never a secret", Args: takes(),
		RunE: running(func(ctx context.Context, _ []string) error {
			var tokens []projections.TokenView
			if err := a.get(ctx, "/api/tokens", nil, &tokens); err != nil {
				return err
			}
			list(a, tokens, "There are no named tokens", func(t projections.TokenView) []string {
				state := "good"
				if t.RevokedAt != nil {
					state = "revoked " + instant(*t.RevokedAt)
				}
				return []string{t.Name, string(t.Kind), state, strings.Join(t.ProjectIDs, ", ")}
			})
			return nil
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *app) tokenRevoke() *cobra.Command {
	var body commands.RevokeToken
	var key string
	cmd := &cobra.Command{
		Use: "revoke [NAME]", Short: "Make a named token, or a session's secret, good no longer; what it has open ends", Args: takes("[NAME]"),
		RunE: running(func(ctx context.Context, args []string) error {
			body.Name = at(args, 0)
			if (body.Name == "") == (body.SessionID == "") {
				return usage("Which is meant, a token or a session?").withNext("name one of them: `maestro token revoke NAME`, or --session ID")
			}
			answer, err := a.send(ctx, "token:revoke", &body, key)
			if err != nil {
				return err
			}
			if body.SessionID == "" {
				a.wrote(answer, body.Name, "Revoked the token %s", body.Name)
				return nil
			}
			a.result(newToken{writtenOf(answer, body.SessionID), answer.Token}, func() {
				a.print("Revoked the secret of session %s; its new one:\n%s\n", body.SessionID, answer.Token)
			})
			return nil
		}),
	}
	cmd.Flags().StringVar(&body.SessionID, "session", "", "the session whose secret it is; it gets another one, which is printed")
	a.keyFlag(cmd, &key)
	return cmd
}
