package simulation

import "testing"

// Shrink omits steps from a plan that breaks a promise, as long as it still breaks the same promise, and returns the
// shortest plan found. It runs plans at most runs times.
func Shrink(t *testing.T, plan Plan, runs int) (Plan, Result) {
	t.Helper()
	result := Run(t, plan)
	if result.Failure == nil {
		return plan, result
	}
	promise := result.Failure.Promise
	for _, leave := range []func(*Plan){
		func(p *Plan) { p.Fan = false },
		func(p *Plan) { p.Chatter = false },
		func(p *Plan) { p.Crowd = false },
		func(p *Plan) { p.Gossip = false },
		// Gossip and plans need the initial projects, tasks and sessions.
		func(p *Plan) { p.Furnished = p.Furnished && (p.Gossip || p.Plans) },
	} {
		bare := plan
		leave(&bare)
		if r := Run(t, bare); r.Failure != nil && r.Failure.Promise == promise {
			plan, result = bare, r
		}
	}
	for size := max(len(plan.Steps)/2, 1); ; size = max(size/2, 1) {
		shorter := false
		for at := 0; at < len(plan.Steps) && runs > 0; {
			end := min(at+size, len(plan.Steps))
			without := plan
			without.Steps = append(append([]Step{}, plan.Steps[:at]...), plan.Steps[end:]...)
			runs--
			if r := Run(t, without); r.Failure != nil && r.Failure.Promise == promise {
				plan, result, shorter = without, r, true
				continue
			}
			at = end
		}
		if runs <= 0 || size == 1 && !shorter {
			return plan, result
		}
	}
}
