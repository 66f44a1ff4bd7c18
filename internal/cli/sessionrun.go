package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// waits describes how a session waits for its runner; "" if it does not, or if this caller may not see that.
func waits(ctx context.Context, a *Run, x wire.Session) string {
	if a.moment != "" || x.Runner == "" || x.EndedAt != nil || x.Run != nil && !x.Run.Resumed {
		return ""
	}
	list, err := Look(ctx, a, (*client.Client).Runners)
	if err != nil {
		return "" // only the user sees the runners
	}
	for _, r := range list.Runners {
		if r.Name != x.Runner {
			continue
		}
		line := r.Workers
		if x.Role == events.RoleOrchestrator {
			line = r.Orchestrators
		}
		place := slices.Index(line, x.ID)
		if place < 0 {
			return fmt.Sprintf("for runner %s: %d are in line", r.Name, r.Waiting)
		}
		text := fmt.Sprintf("for runner %s: number %d in line, %d of %d places taken",
			r.Name, place+1, r.Running, r.Limit)
		if r.Asking > 0 {
			text += "; " + Many(r.Asking, "run") + " asked you something before the launch: see `maestro inbox`"
		}
		return text
	}
	return "for runner " + x.Runner + ", which has not asked for work lately: see `maestro runner list`; " +
		"`maestro serve` has a runner, unless it has --no-runner"
}

// asks returns the questions of a session that wait for the user: nothing else says why a run does not begin.
func asks(ctx context.Context, a *Run, x wire.Session) (questions []string) {
	if a.moment != "" || x.EndedAt != nil || a.isSession() {
		return nil
	}
	items, err := Ask(ctx, a, (*client.Client).Inbox, wire.InboxFilter{SessionID: x.ID, Kind: "question"})
	if err != nil {
		return nil // what is known of the session is shown all the same
	}
	for _, item := range items {
		questions = append(questions, item.Message)
	}
	return questions
}

// showRun shows the last run of a session, and what all its runs used.
func showRun(a *Run, x wire.Session, waits string) {
	a.Field("Runner", x.Runner)
	a.Field("Waits", waits)
	if run := x.Run; run != nil {
		on := ""
		if run.Host != "" {
			on = " on " + run.Host
		}
		a.Field("Run", fmt.Sprintf("%d, by runner %s%s, since %s", run.Number, run.Runner, on, a.When(run.ClaimedAt)))
		a.Field("Confined by",
			cmp.Or(strings.Join(run.Layers, ", "), "nothing: the agent can do whatever its user can"))
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
