package simulation

import "math/rand/v2"

// bounds has orchestrators with options of an agent spawn sessions with other ones, also in a project that they
// created: of each it is said whether it is more. Random commands seldom lead to this.
func (w *world) bounds(rng *rand.Rand) *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	oneOf := func(values ...string) string { return values[rng.IntN(len(values))] }
	with := func(x fields) fields {
		x.PermissionMode = oneOf("", "", "acceptEdits", "interactive", "readOnly")
		x.Network = oneOf("", "", "open", "none", "443", "443,8080", "8080,443", "22")
		x.WorkingDirectory = oneOf("", "", "", "/code", "/code/a", "/code/a/b", "/codex", "/code/../etc", "/")
		return x
	}
	project := last(do(admin, "project:create", fields{
		Name:       ptr("Bounds"),
		WorkingDir: ptr(oneOf("/code", "/code", "/code/a", "")),
	}).projectIDs)
	for range 3 {
		task := last(do(admin, "task:create", fields{Project: project, Title: ptr("Lead")}).taskIDs)
		lead := caller{kind: "session", name: last(do(admin, "session:spawn", with(fields{
			Project: project, Role: "orchestrator", TaskIDs: &[]string{task},
		})).sessionIDs), project: project}
		place := project
		for range 6 {
			if rng.IntN(4) == 0 {
				place = last(do(lead, "project:create", fields{
					Name: ptr("Below"), WorkingDir: ptr(oneOf("/code", "/code/a/b", "/etc", "")),
				}).projectIDs)
			}
			task := last(do(admin, "task:create", fields{Project: place, Title: ptr("Do")}).taskIDs)
			do(lead, "session:spawn", with(fields{Project: place, TaskIDs: &[]string{task}}))
		}
	}
	return f
}
