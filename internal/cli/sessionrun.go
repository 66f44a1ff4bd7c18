package cli

import (
	"fmt"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// showRun shows the last run of a session, and what all its runs used.
func showRun(a *Run, x wire.Session) {
	a.Field("Runner", x.Runner)
	if run := x.Run; run != nil {
		on := ""
		if run.Host != "" {
			on = " on " + run.Host
		}
		a.Field("Run", fmt.Sprintf("%d, by runner %s%s, since %s", run.Number, run.Runner, on, a.When(run.ClaimedAt)))
		a.Field("Confined by", strings.Join(run.Layers, ", "))
		if run.ExitedAt != nil {
			how := events.HowExited(run.ExitCode, run.Signal) + Prefixed(": ", run.Reason)
			a.Field("Exited", a.When(*run.ExitedAt)+how)
		}
		switch {
		case run.Waits:
			a.Field("Next run", "brings the answer to its question")
		case run.Resumed:
			a.Field("Next run", "may begin")
		}
		a.Field("Last output", safetext.OneLine(run.LastOutput))
	}
	if x.Stuck != nil {
		a.Field("Stuck", string(x.Stuck.Kind)+" since "+a.When(x.Stuck.Since)+Prefixed(": ", x.Stuck.Detail))
	}
	if x.Blocked > 0 {
		a.Field("Blocked", Many(x.Blocked, "command"))
	}
	if u := x.Usage; u != nil {
		a.Field("Used", usageText(u.Usage))
	}
}

// usageText says what was used, without what was not.
func usageText(u events.Usage) string {
	var parts []string
	for _, part := range []struct {
		n    int64
		what string
	}{
		{u.Turns, "turns"},
		{u.InputTokens, "tokens read"},
		{u.CachedTokens, "cached"},
		{u.OutputTokens, "written"},
		{u.ReasoningTokens, "reasoning"},
	} {
		if part.n > 0 {
			parts = append(parts, strconv.FormatInt(part.n, 10)+" "+part.what)
		}
	}
	if u.CostMicros > 0 {
		parts = append(parts, fmt.Sprintf("%.4f USD", float64(u.CostMicros)/1e6))
	}
	return strings.Join(parts, ", ")
}
