package commands

const (
	reads      = "reads"
	ownAlive   = "the session is its own and alive"
	itsSpawned = "a session that it spawned"
	atMost     = "an orchestrator gives a worker its default set, beyond that only what it may use itself; " +
		"another orchestrator at most its own set"
)

// rows1 is version 1 of the table, in the order of contract.md.
var rows1 = []Row{
	{ID: "whoami", Who: agents | U | R | S, Core: true, Rule: reads},
	{ID: "status", Who: agents | U | R | S, Core: true, Rule: reads},
	{ID: "commands", Who: agents | U | R | S, Core: true, Rule: reads},

	{ID: "session:register", Who: agents | U, Core: true, Write: true, Events: "session.registered", Rule: ownAlive},
	{ID: "session:complete", Who: agents | U, Core: true, Write: true, Events: "session.completed", Rule: ownAlive},
	{ID: "track-file", Who: agents | U, Core: true, Write: true, Events: "session.file_tracked", Rule: ownAlive},
	{ID: "worker:init", Who: workers, Core: true, Write: true, Events: "session.registered", Rule: "manifest valid, digest known"},
	{ID: "orchestrator:init", Who: O, Core: true, Write: true, Events: "session.registered", Rule: "manifest valid, digest known"},

	{ID: "report:progress", Who: agents, Write: true, Events: "session.reported", Rule: "own tasks, their descendants, tasks it created; an orchestrator: its project's"},
	{ID: "report:blocked", Who: agents, Write: true, Events: "session.reported", Rule: "as report:progress"},
	{ID: "report:error", Who: agents, Write: true, Events: "session.reported", Rule: "as report:progress"},
	{ID: "report:needs-input", Who: agents, Write: true, Events: "session.reported", Rule: "as report:progress"},
	{ID: "report:complete", Who: agents, Write: true, Events: "session.reported", Rule: "as report:progress; without tasks the session completes"},
	{ID: "task:report:progress", Who: agents, Write: true, Alias: "report:progress", Events: "session.reported", Rule: "as report:progress"},
	{ID: "task:report:blocked", Who: agents, Write: true, Alias: "report:blocked", Events: "session.reported", Rule: "as report:blocked"},
	{ID: "task:report:error", Who: agents, Write: true, Alias: "report:error", Events: "session.reported", Rule: "as report:error"},
	{ID: "task:report:needs-input", Who: agents, Write: true, Alias: "report:needs-input", Events: "session.reported", Rule: "as report:needs-input"},
	{ID: "task:report:complete", Who: agents, Write: true, Alias: "report:complete", Events: "session.reported", Rule: "as report:complete"},

	{ID: "task:list", Who: agents | U, Rule: reads},
	{ID: "task:get", Who: agents | U, Rule: reads},
	{ID: "task:children", Who: agents | U, Rule: reads},
	{ID: "task:tree", Who: T | O | U, Rule: reads},
	{ID: "task:create", Who: agents | U, Write: true, Events: "task.created", Rule: "title 1–200; parent in the same project; dependencies exist, no cycle"},
	{ID: "task:update", Who: O | U, Write: true, Events: "task.updated", Rule: "cancelled: the user only"},
	{ID: "task:complete", Who: O | U, Write: true, Events: "task.status_changed", Rule: "an orchestrator's decision, or the user's"},
	{ID: "task:block", Who: O | U, Write: true, Events: "task.status_changed", Rule: "an orchestrator's decision, or the user's"},
	{ID: "task:reopen", Who: O | U, Write: true, Events: "task.status_changed", Rule: "the task is completed, blocked, or said to be done"},
	{ID: "task:delete", Who: U, Write: true, Events: "task.deleted", Rule: "the user's"},

	{ID: "session:list", Who: O | U, Rule: reads},
	{ID: "session:info", Who: agents | U, Rule: reads},
	{ID: "session:spawn", Who: O | U, Write: true, Events: "session.spawned", Rule: atMost},
	{ID: "session:kill", Who: O | U, Write: true, Events: "session.killed", Rule: "an orchestrator: " + itsSpawned +
		", or one below it"},
	{ID: "session:message", Who: O | U, Write: true, Events: "session.messaged", Rule: "an orchestrator: " + itsSpawned},
	{ID: "session:update", Who: O | U, Write: true, Events: "session.updated", Rule: "an orchestrator: " + itsSpawned},
	{ID: "session:resume", Who: O | U, Write: true, Events: "session.resumed", Rule: "an orchestrator: " + itsSpawned},

	{ID: "queue:top", Who: Q | U, Rule: reads},
	{ID: "queue:list", Who: Q | U, Rule: reads},
	{ID: "queue:status", Who: Q | U, Rule: reads},
	{ID: "queue:start", Who: Q | U, Write: true, Events: "queue.item_started", Rule: "the first eligible item"},
	{ID: "queue:complete", Who: Q | U, Write: true, Events: "queue.item_completed", Rule: "the item is in its hand"},
	{ID: "queue:fail", Who: Q | U, Write: true, Events: "queue.item_failed", Rule: "the item is in its hand"},
	{ID: "queue:skip", Who: Q | U, Write: true, Events: "queue.item_skipped", Rule: "the item is in its hand, or the next one"},
	{ID: "queue:push", Who: Q | U, Write: true, Events: "queue.item_pushed", Rule: "the task is not in the queue"},

	{ID: "project:list", Who: O | U, Rule: "an orchestrator sees its own project"},
	{ID: "project:get", Who: O | U, Rule: "an orchestrator sees its own project"},
	{ID: "project:create", Who: O | U, Write: true, Events: "project.created", Rule: "a name"},
	{ID: "project:delete", Who: O | U, Write: true, Events: "project.deleted", Rule: "no tasks, no sessions; an orchestrator only one that it created"},

	{ID: "inbox", Who: O | U, Rule: "an orchestrator: " + itsSpawned},
	{ID: "input:list", Who: O | U, Rule: "an orchestrator: " + itsSpawned},
	{ID: "input:answer", Who: O | U, Write: true, Events: "input.answered", Rule: "the question is open; an orchestrator: " + itsSpawned},
	{ID: "manifest:generate", Who: O | U, Rule: reads},
	{ID: "session:note", Who: agents | U, Write: true, Events: "session.noted", Rule: "its own session"},
	{ID: "input:received", Who: agents, Write: true, Events: "input.delivered", Rule: "its own question"},
	{ID: "queue:create", Who: U, Write: true, Events: "queue.created", Rule: "the user's"},
	{ID: "queue:requeue", Who: U, Write: true, Events: "queue.item_requeued", Rule: "quarantined, failed or skipped items"},

	{ID: "project:update", Who: U, Write: true, Events: "project.updated", Rule: "the user's"},
	{ID: "session:delete", Who: U, Write: true, Events: "session.deleted", Rule: "the user's"},
	{ID: "session:link", Who: U, Write: true, Events: "session.task_linked", Rule: "the user's"},
	{ID: "session:unlink", Who: U, Write: true, Events: "session.task_unlinked", Rule: "the user's"},
	{ID: "template:create", Who: U, Write: true, Events: "template.created", Rule: "the user's"},
	{ID: "template:update", Who: U, Write: true, Events: "template.updated", Rule: "the user's"},
	{ID: "template:reset", Who: U, Write: true, Events: "template.reset", Rule: "the user's"},
	{ID: "template:delete", Who: U, Write: true, Events: "template.deleted", Rule: "the user's"},

	{ID: "watch", Who: O | U, Rule: reads},
	{ID: "since", Who: O | U, Rule: reads},
	{ID: "why", Who: O | U, Rule: reads},
	{ID: "events", Who: O | U, Rule: reads},

	{ID: "audit:export", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:verify", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:replay", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:head", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:denials", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:can", Who: U, Rule: "the user's, and an auditor's"},

	{ID: "token:create", Who: U, Write: true, Events: "token.created", Rule: "the user's"},
	{ID: "token:list", Who: U, Rule: "the user's"},
	{ID: "token:revoke", Who: U, Write: true, Events: "token.revoked", Rule: "the user's"},
	{ID: "runner:enroll", Who: U, Write: true, Events: "runner.enrolled", Rule: "the user's"},
	{ID: "runner:list", Who: U, Rule: "the user's"},
	{ID: "runner:revoke", Who: U, Write: true, Events: "runner.revoked", Rule: "the user's"},

	{ID: "session:claim", Who: R, Write: true, Events: "session.claimed", Rule: "the session is assigned to this runner"},
	{ID: "session:exited", Who: R, Write: true, Events: "session.exited", Rule: "the session is assigned to this runner"},
	{ID: "session:usage", Who: R, Write: true, Events: "session.used", Rule: "the session is assigned to this runner"},
	{ID: "sandbox:blocked", Who: R, Write: true, Events: "sandbox.blocked", Rule: "the session is assigned to this runner"},
	{ID: "preflight:failed", Who: R, Write: true, Events: "preflight.failed", Rule: "the session is assigned to this runner"},

	{ID: "session:lost", Who: S, Write: true, Events: "session.lost", Rule: "the deadline passed"},
	{ID: "session:recovered", Who: S, Write: true, Events: "session.recovered", Rule: "the deadline passed"},
	{ID: "session:timed-out", Who: S, Write: true, Events: "session.timed_out", Rule: "the deadline passed"},
	{ID: "queue:return", Who: S, Write: true, Events: "queue.item_returned", Rule: "the deadline passed"},
	{ID: "queue:quarantine", Who: S, Write: true, Events: "queue.item_quarantined", Rule: "the deadline passed"},
	{ID: "limit:reached", Who: S, Write: true, Events: "limit.reached", Rule: "the deadline passed"},
}
