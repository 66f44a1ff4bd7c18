package main

import (
	"context"

	"github.com/spf13/cobra"
)

// identity is what the server knows of who asks.
type identity struct {
	Actor    string `json:"actor"`
	Kind     string `json:"kind"`
	Role     string `json:"role"`
	Strategy string `json:"strategy,omitempty"`
	Project  string `json:"project,omitempty"`
	Session  string `json:"session,omitempty"`
	Access   string `json:"access,omitempty"`
	Authn    string `json:"authn"`
	Server   string `json:"server"`
}

func (a *app) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Show who you are to the server", Args: takes(),
		RunE: running(func(ctx context.Context, _ []string) error {
			address, _, err := a.find()
			if err != nil {
				return err
			}
			me := identity{Server: address}
			if err := a.get(ctx, "/api/whoami", nil, &me); err != nil {
				return err
			}
			a.result(me, func() {
				a.print("%s %s\n", me.Kind, me.Actor)
				a.field("Role", me.Role+prefixed(", strategy ", me.Strategy))
				a.field("Project", me.Project)
				a.field("Access", me.Access)
				a.field("Known by", me.Authn)
				a.field("Server", me.Server)
				if me.Session != "" {
					a.print("\nRun `maestro commands` to see what you may do.\n")
				}
			})
			return nil
		}),
	}
}
