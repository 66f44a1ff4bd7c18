package main

import (
	"fmt"
	"strings"

	"maestro/api"
)

// routesPage returns docs/routes.md: every route of the HTTP interface.
func routesPage() string {
	var b strings.Builder
	b.WriteString("# Routes\n\n" + notice + `How bodies, answers, errors and credentials work is in [contract.md](contract.md#http). Each command id of
[permissions.md](permissions.md) that writes is a path below ` + "`/api/commands/`" + `. A route needs one of the ids beside it,
depending on what is asked for: ` + "`whoami`" + ` where a session asks about itself.
`)
	native, compat := api.Routes()
	for _, part := range []struct {
		title  string
		routes []api.Documented
	}{
		{"The API", native},
		{"For older clients", compat},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| route | what | needs |\n|---|---|---|\n", part.title)
		for _, r := range part.routes {
			needs := ""
			if len(r.Rows) > 0 {
				needs = "`" + strings.Join(r.Rows, "` or `") + "`"
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", r.Method, r.Path, r.Summary, needs)
		}
	}
	return b.String()
}
