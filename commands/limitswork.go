package commands

import (
	"maestro/events"
	"maestro/projections"
)

// Limits of what one command can cost the writer.
var (
	LimitTaskDepth = Limit{
		Name:   "task-depth",
		Value:  100,
		Unit:   "levels",
		Code:   CodeLimit,
		Bounds: "levels of tasks from a root down to a new task",
	}
	LimitOrderKey = Limit{
		Name:   "order-key",
		Value:  256,
		Unit:   "digits",
		Answer: "new keys",
		Bounds: "the key of a place among siblings, which grows by a digit with every four tasks, at least, that " +
			"are put into one gap; where it would be longer, the tasks there get new keys in the same order, and no " +
			"move is refused",
	}
	LimitDependents = Limit{
		Name:   "dependents",
		Value:  1000,
		Unit:   "dependents",
		Code:   CodeLimit,
		Bounds: "tasks that depend on one task",
	}
	LimitGraph = Limit{
		Name:  "graph-steps",
		Value: 50_000,
		Unit:  "dependencies",
		Code:  CodeLimit,
		Bounds: "dependencies that one command follows: to find a cycle, what the tasks of a new session wait for, " +
			"or both ways from the tasks that a recursive deletion takes",
	}
	LimitDeleted = Limit{
		Name:   "deleted-tasks",
		Value:  5000,
		Unit:   "tasks below it",
		Code:   CodeLimit,
		Bounds: "tasks that go with a task that is deleted recursively",
	}
	LimitTaskSessions = Limit{
		Name:   "task-sessions",
		Value:  1000,
		Unit:   "sessions",
		Code:   CodeLimit,
		Bounds: "sessions that have or had one task, and sessions that reported on it",
	}
	LimitSessionTasks = Limit{
		Name:   "session-tasks",
		Value:  1000,
		Unit:   "tasks",
		Code:   CodeLimit,
		Bounds: "tasks of one session",
	}
	LimitTaskQueues = Limit{
		Name:   "task-queues",
		Value:  1000,
		Unit:   "queues",
		Code:   CodeLimit,
		Bounds: "queues that one task is in",
	}
	LimitAwaited = Limit{
		Name:   "awaited-items",
		Value:  5000,
		Unit:   "items",
		Code:   CodeLimit,
		Bounds: "items, queued or held, of the tasks that depend on one task",
	}
	LimitTrusted = Limit{
		Name:   "trusted-items",
		Value:  projections.MaxTrusted,
		Unit:   "items",
		Code:   CodeLimit,
		Bounds: "items, queued or held, in the queues of one project that trust reports",
	}
	LimitTokenAddresses = Limit{
		Name:   "token-addresses",
		Value:  events.MaxTokenAddresses,
		Unit:   "addresses",
		Answer: "works as before, and no event notes it",
		Bounds: "addresses from which the first use of a user's token is noted (`token.used`)",
	}
	LimitMoved = Limit{
		Name:   "moved-items",
		Value:  10_000,
		Unit:   "queued items",
		Code:   CodeLimit,
		Bounds: "queued items of a queue in which one is moved",
	}
	LimitDeletedItems = Limit{
		Name:  "deleted-items",
		Value: 10_000,
		Unit:  "items",
		Code:  CodeLimit,
		Bounds: "items, queued or held, of the tasks that one recursive deletion takes, and of those that depend " +
			"on them",
	}
	LimitReportWords = Limit{
		Name:  "report-words",
		Value: 50_000,
		Unit:  "words",
		Code:  CodeLimit,
		Bounds: "what sessions report on the tasks that one report names, that a queued task newly depends on, or " +
			"that tasks pushed to a queue that trusts reports depend on; each session counts once for each task",
	}
)

// CheckManifestSize fails with a *Refusal if a manifest is requested for more tasks than a session may have, or for
// tasks with more dependencies than a new session may have.
func CheckManifestSize(tasks, dependencies int) error {
	if int64(tasks) > LimitSessionTasks.Value {
		return LimitSessionTasks.exceeded("/taskIds", "a manifest", int64(tasks))
	}
	if int64(dependencies) > LimitGraph.Value {
		return LimitGraph.exceeded("/taskIds", "what the tasks wait for", int64(dependencies))
	}
	return nil
}
