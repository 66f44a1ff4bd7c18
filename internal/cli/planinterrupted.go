package cli

import (
	"fmt"

	"maestro/internal/failure"
	"maestro/internal/plan"
)

// interrupted says how far an apply got.
func (i *applying) interrupted(err error, t plan.Task, done string) error {
	e := explain(err)
	if i.dryRun {
		return &failure.Error{
			Code:    e.code,
			Err:     err,
			Details: e.details,
			Why:     e.why,
			Next:    e.next,
			Message: fmt.Sprintf("Task %q (line %d) would be refused: %s", t.ID, t.Line, e.message),
		}
	}
	next := done
	if e.next != "" { // running it again may meet the same refusal
		next += "; " + e.next
	}
	return &failure.Error{
		Code:    e.code,
		Err:     err,
		Details: e.details,
		Why:     e.why,
		Message: fmt.Sprintf("Task %q (line %d) could not be applied: %s", t.ID, t.Line, e.message),
		Next:    next + i.goOn(err),
	}
}

// goOn says how an apply goes on after an error. A caller who may not do it would meet the same refusal again.
func (*applying) goOn(err error) string {
	if exitCode(err) == ExitNotAllowed {
		return ""
	}
	return "; then apply the plan again: it continues from there"
}

// ofMany returns "2 of 3 tasks".
func ofMany(n, all int, what string) string { return fmt.Sprintf("%d of %s", n, Many(all, what)) }
