package main

import (
	"fmt"
	"strings"

	"maestro/api"
)

// routesPage returns docs/routes.md: every route of the HTTP interface.
func routesPage() string {
	var b strings.Builder
	b.WriteString("# Routes\n\n" + notice + `[contract.md](contract.md#http) describes bodies, answers,
errors and credentials. Each command of [permissions.md](permissions.md) that writes is also a path below
` + "`/api/commands/`" + `. The third column names the command that a caller must be allowed to use. If it names
several, it depends on the request: ` + "`whoami`" + ` is for a session that asks about itself. The last column names
the reads that take ` + "`?at=`" + `, a moment.
`)
	native, compat := api.Routes()
	for _, part := range []struct {
		title  string
		routes []api.Documented
	}{
		{"The API", native},
		{"For older clients", compat},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| route | what | needs | `at` |\n|---|---|---|---|\n", part.title)
		for _, r := range part.routes {
			needs := ""
			if len(r.Rows) > 0 {
				needs = "`" + strings.Join(r.Rows, "` or `") + "`"
			}
			past := ""
			if r.Past {
				past = "yes"
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", r.Method, r.Path, r.Summary, needs, past)
		}
	}
	return b.String()
}
