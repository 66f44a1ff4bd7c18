package simulation

import "math/rand/v2"

// fan fills a queue that trusts reports with items that wait for the subtasks of one task: most for one subtask, some
// for two. Then sessions report on several of these subtasks at once, and one command deletes them all.
func (w *world) fan(rng *rand.Rand) *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	m := do(admin, "project:create", fields{Name: ptr("Fan")})
	project := last(m.projectIDs)
	task := func(title, parent string, dependencies ...string) string {
		x := fields{Project: project, Title: &title, ParentID: &parent}
		if len(dependencies) > 0 {
			x.Dependencies = &dependencies
		}
		return last(do(admin, "task:create", x).taskIDs)
	}
	some := func(from []string, n int) []string {
		var chosen []string
		for _, i := range rng.Perm(len(from))[:n] {
			chosen = append(chosen, from[i])
		}
		return chosen
	}
	parent := task("Parent", "")
	children := []string{task("First", parent), task("Second", parent), task("Third", parent)}
	items := []string{task("After two", "", some(children, 2)...)}
	for _, child := range some(children, 3) {
		items = append(items, task("After one", "", child))
	}
	items = some(items, len(items))

	do(admin, "queue:create", fields{Project: project, Queue: "fan", TrustReports: true})
	do(admin, "session:spawn", fields{
		Project:  project,
		Strategy: "queue",
		Queue:    "fan",
		TaskIDs:  &items,
	})
	var speakers []caller
	for range 2 {
		m = do(admin, "session:spawn", fields{Project: project, TaskIDs: &children})
		speakers = append(speakers, caller{kind: "session", name: last(m.sessionIDs), project: project})
	}
	for range 2 + rng.IntN(3) {
		said := some(children, 2)
		report := []string{"report:complete", "report:complete", "report:progress"}[rng.IntN(3)]
		do(speakers[rng.IntN(2)], report, fields{Message: "As far as it goes", TaskIDs: &said})
	}
	switch rng.IntN(4) {
	case 0:
		do(admin, "session:kill", fields{SessionID: speakers[rng.IntN(2)].name})
	case 1:
		do(admin, "task:complete", fields{TaskID: children[rng.IntN(3)]})
	default:
		do(admin, "task:delete", fields{TaskID: parent, Recursive: true})
	}
	return f
}

func last[T any](list []T) T { return list[len(list)-1] }
