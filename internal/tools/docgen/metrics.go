package main

import (
	"fmt"
	"strings"

	"maestro/internal/cli/doctor"
	"maestro/internal/server/metrics"
)

func metricsPage() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\n" + notice)
	b.WriteString("A server shows its figures at `GET /metrics`, in the text format of Prometheus. The caller needs " +
		"an admin or an auditor token;\n[operations.md](operations.md#metrics) has the configuration of a scraper. " +
		"The figures begin at 0 with each start of the server, except those\nthat describe what exists. No label " +
		"holds an " +
		"id, a name or anything else that a caller chooses. Beside these figures there are those of the\nGo runtime " +
		"(`go_*`) and of the process (`process_*`).\n\n| Name | Kind | Labels | What |\n|---|---|---|---|\n")
	for _, m := range metrics.Table() {
		var labels []string
		for _, label := range m.Labels {
			labels = append(labels, "`"+label+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(labels, ", "), m.Help)
	}
	return b.String()
}

func doctorPage() string {
	var b strings.Builder
	b.WriteString("# What `maestro doctor` finds\n\n" + notice)
	b.WriteString("`maestro doctor` prints what is wrong, why it matters, and what to do. Its exit code is 1 if " +
		"there is an error, 8 if there are only warnings,\nand 0 otherwise. It shows a finding of severity `info`, " +
		"except `limited`, and a line `ok` for each check that found nothing, or " +
		"`not checked` for one that needs the server or a home that is not there, only with `--all`.\n`-o json` " +
		"prints `verdict` and `findings`; each has `id`, `severity`, `what`, `why` and `next`. The ids do not " +
		"change.\n\n" +
		"| Id | Severity | What |\n|---|---|---|\n")
	for _, kind := range doctor.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind.ID, kind.Severity, kind.About)
	}
	return b.String()
}
