package cli

import (
	"errors"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/plan"
	"maestro/service/wire"
)

// A plan's limits for a task are no higher than the server's, so that nothing is created from a plan that exceeds them.
func TestPlansHaveTheLimitsOfTheServer(t *testing.T) {
	for name, c := range map[string]struct{ plan, server int64 }{
		"dependents": {plan.MaxDependents, commands.LimitDependents.Value},
		"levels":     {plan.MaxDepth, commands.LimitTaskDepth.Value},
		"a task":     {plan.MaxTask, commands.MaxRequest},
		"a text":     {plan.MaxText, events.MaxText},
	} {
		if c.plan > c.server {
			t.Errorf("%s: a plan may have %d, the server accepts %d", name, c.plan, c.server)
		}
	}
}

// An apply that stops half way says how to lift the refusal, and how to continue.
func TestInterruptedApplySaysHowToContinue(t *testing.T) {
	i := applying{Diff: &plan.Diff{Done: make([]plan.Applied, 3)}}
	err := i.interrupted(&client.Error{Status: http.StatusTooManyRequests, Problem: wire.Problem{
		Code:    "QUOTA_EXCEEDED",
		Message: "There are too many tasks",
		Next:    "let the user raise the limit",
	}}, plan.Task{ID: "d", Line: 9}, ofMany(len(i.Done), 5, "task")+" are done")
	var told *failure.Error
	if !errors.As(err, &told) || !strings.Contains(told.Message, "line 9") ||
		told.Next != "3 of 5 tasks are done; let the user raise the limit; then apply the plan again: it "+
			"continues from there" {
		t.Errorf("got %+v", told)
	}
}

// TestSamplePlanHasEveryKey: the plan in the help can be applied, and uses every key of a plan.
func TestSamplePlanHasEveryKey(t *testing.T) {
	sample := regexp.MustCompile(`(?m)^  `).ReplaceAllString(samplePlan, "")
	p, err := plan.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"Later": true} // determined from the others
	for _, x := range append([]any{*p}, toAny(p.Tasks)...) {
		v := reflect.ValueOf(x)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			used[name] = used[name] || !v.Field(i).IsZero()
		}
	}
	for name, is := range used {
		if !is {
			t.Errorf("the sample has no %s", name)
		}
	}
}

func toAny(tasks []plan.Task) (all []any) {
	for _, t := range tasks {
		all = append(all, t)
	}
	return all
}
