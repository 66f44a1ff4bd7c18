package commands

import "maestro/events"

const (
	asProgress = "as report:progress"
	reads      = "reads"
	alive      = "the session is its own and alive"
	itsSpawned = "a session that it spawned"
	atMost     = "an orchestrator gives a worker its default set, beyond that only what it may use itself; " +
		"another orchestrator at most its own set"
	openOnly             = "the question is open; an orchestrator: " + itsSpawned
	emptyOnly            = "no tasks, no sessions; an orchestrator only one that it created"
	doneOrBlocked        = "the task is completed, blocked, or said to be done"
	byOrchestratorOrUser = "an orchestrator's decision, or the user's"
	fits                 = "title 1–200; parent in the same project; dependencies exist, no cycle"
	completes            = "as report:progress; without tasks the session completes"
	ownTasks             = "own tasks, their descendants, tasks it created; an orchestrator: its project's"
	manifestKnown        = "manifest valid, digest known"
)

// rows are all versions of the table, in the order of docs/contract.md, "Permissions": a row that a later version added
// or changed says since which, and who could use it before. A row whose command is there says what makes it; of the
// others, those that name an event will write.
var rows = []Row{
	{ID: "whoami", Who: agents | U | R | S, Core: true, Rule: reads},
	{ID: "status", Who: agents | U | R | S, Core: true, Rule: reads},
	{ID: "commands", Who: agents | U | R | S, Core: true, Rule: reads},

	{ID: "session:register", Who: agents | U, Core: true, makes: makerOf((*RegisterSession).from), Rule: alive},
	{
		ID:    "session:complete",
		Who:   agents | U,
		Core:  true,
		Waits: true,
		makes: makerOf((*CompleteSession).from),
		Rule:  alive,
	},
	{ID: "track-file", Who: agents | U, Core: true, Waits: true, makes: makerOf((*TrackFile).from), Rule: alive},
	{ID: "worker:init", Who: workers, Core: true, makes: begins(events.RoleWorker), Rule: manifestKnown},
	{ID: "orchestrator:init", Who: O, Core: true, makes: begins(events.RoleOrchestrator), Rule: manifestKnown},

	{ID: "report:progress", Who: agents, Waits: true, makes: reports(events.ReportProgress), Rule: ownTasks},
	{ID: "report:blocked", Who: agents, Waits: true, makes: reports(events.ReportBlocked), Rule: asProgress},
	{ID: "report:error", Who: agents, Waits: true, makes: reports(events.ReportError), Rule: asProgress},
	{ID: "report:needs-input", Who: agents, Waits: true, makes: reports(events.ReportNeedsInput), Rule: asProgress},
	{ID: "report:complete", Who: agents, Waits: true, makes: reports(events.ReportComplete), Rule: completes},
	{ID: "task:report:progress", Who: agents, Alias: "report:progress", Rule: asProgress},
	{ID: "task:report:blocked", Who: agents, Alias: "report:blocked", Rule: "as report:blocked"},
	{ID: "task:report:error", Who: agents, Alias: "report:error", Rule: "as report:error"},
	{ID: "task:report:needs-input", Who: agents, Alias: "report:needs-input", Rule: "as report:needs-input"},
	{ID: "task:report:complete", Who: agents, Alias: "report:complete", Rule: "as report:complete"},

	{ID: "task:list", Who: agents | U, Rule: reads},
	{ID: "task:get", Who: agents | U, Rule: reads},
	{ID: "task:children", Who: agents | U, Rule: reads},
	{ID: "task:tree", Who: T | O | U, Rule: reads},
	{ID: "task:create", Who: agents | U, makes: makerOf((*CreateTask).from), Rule: fits},
	{ID: "task:update", Who: O | U, makes: makerOf((*UpdateTask).from), Rule: "cancelled: the user only"},
	{ID: "task:complete", Who: O | U, makes: makerOf((*CompleteTask).from), Rule: byOrchestratorOrUser},
	{ID: "task:block", Who: O | U, makes: makerOf((*BlockTask).from), Rule: byOrchestratorOrUser},
	{ID: "task:reopen", Who: O | U, makes: makerOf((*ReopenTask).from), Rule: doneOrBlocked},
	{ID: "task:delete", Who: U, makes: makerOf((*DeleteTask).from), Rule: "the user's"},

	{ID: "session:list", Who: O | U, Rule: reads},
	{ID: "session:info", Who: agents | U, Rule: reads},
	{ID: "session:spawn", Who: O | U, makes: makerOf((*SpawnSession).from), Rule: atMost},
	{
		ID:     "session:kill",
		Who:    O | U,
		beyond: whereThoseBelowWork,
		makes:  makerOf((*KillSession).from),
		Rule:   "an orchestrator: " + itsSpawned + ", or one below it",
	},
	{
		ID:     "session:message",
		Who:    agents | U,
		beyond: whereItsSpawnerWorks,
		since:  thirdRules,
		before: O | U,
		makes:  makerOf((*MessageSession).from),
		Rule:   "a session writes to the one that spawned it, and an orchestrator to those that it spawned",
	},
	{ID: "session:update", Who: O | U, makes: makerOf((*UpdateSession).from), Rule: "an orchestrator: " + itsSpawned},
	{ID: "session:resume", Who: O | U, Events: "session.resumed", Rule: "an orchestrator: " + itsSpawned},

	{ID: "queue:top", Who: Q | U, Rule: reads},
	{ID: "queue:list", Who: Q | U, Rule: reads},
	{ID: "queue:status", Who: Q | U, Rule: reads},
	{ID: "queue:start", Who: Q | U, makes: makerOf((*StartItem).from), Rule: "the first eligible item"},
	{ID: "queue:complete", Who: Q | U, makes: makerOf((*CompleteItem).from), Rule: "the item is in its hand"},
	{ID: "queue:fail", Who: Q | U, makes: makerOf((*FailItem).from), Rule: "the item is in its hand"},
	{ID: "queue:skip", Who: Q | U, makes: makerOf((*SkipItem).from), Rule: "the item is in its hand, or the next one"},
	{ID: "queue:push", Who: Q | U, makes: makerOf((*PushItem).from), Rule: "the task is not in the queue"},

	{ID: "project:list", Who: O | U, Rule: "an orchestrator sees its own project"},
	{ID: "project:get", Who: O | U, Rule: "an orchestrator sees its own project"},
	{ID: "project:create", Who: O | U, makes: makerOf((*CreateProject).from), Rule: "a name"},
	{ID: "project:delete", Who: O | U, makes: makerOf((*DeleteProject).from), Rule: emptyOnly},

	{ID: "inbox", Who: O | U, Rule: "an orchestrator: " + itsSpawned},
	{ID: "input:list", Who: O | U, Rule: "an orchestrator: " + itsSpawned},
	{ID: "input:answer", Who: O | U, makes: makerOf((*AnswerInput).from), Rule: openOnly},
	{ID: "manifest:generate", Who: O | U, Rule: reads},
	{ID: "manifest:show", Who: O | U, since: thirdRules, Rule: "its own is part of whoami"},
	{ID: "manifest:schema", Who: O | U, since: thirdRules, Rule: reads},
	{
		ID:    "session:note",
		Who:   agents | U,
		makes: makerOf((*NoteSession).from),
		Rule:  "its own session; no type that only the system writes",
	},
	{ID: "input:received", Who: agents, makes: makerOf((*ReceiveInput).from), Rule: "its own question"},
	{ID: "input:wait", Who: agents, since: thirdRules, Rule: "its own mail"},
	{ID: "queue:create", Who: U, makes: makerOf((*CreateQueue).from), Rule: "the user's"},
	{ID: "queue:requeue", Who: U, makes: makerOf((*RequeueItem).from), Rule: "quarantined, failed or skipped items"},
	{ID: "queue:move", Who: U, since: thirdRules, makes: makerOf((*MoveItem).from), Rule: "queued items"},
	{ID: "queue:remove", Who: U, since: thirdRules, makes: makerOf((*RemoveItem).from), Rule: "items that nobody holds"},
	{ID: "queue:delete", Who: U, since: thirdRules, makes: makerOf((*DeleteQueue).from), Rule: "nothing queued, nothing held"},

	{ID: "project:update", Who: U, makes: makerOf((*UpdateProject).from), Rule: "the user's"},
	{ID: "session:delete", Who: U, makes: makerOf((*DeleteSession).from), Rule: "the user's"},
	{ID: "session:link", Who: U, makes: makerOf((*LinkTask).from), Rule: "the user's"},
	{ID: "session:unlink", Who: U, makes: makerOf((*UnlinkTask).from), Rule: "the user's"},
	{ID: "template:list", Who: O | U, since: thirdRules, Rule: reads},
	{ID: "template:get", Who: O | U, since: thirdRules, Rule: "the workflow of its own prompts is part of whoami"},
	{ID: "template:create", Who: U, makes: makerOf((*CreateTemplate).from), Rule: "the user's"},
	{ID: "template:update", Who: U, makes: makerOf((*UpdateTemplate).from), Rule: "the user's"},
	{ID: "template:reset", Who: U, makes: makerOf((*ResetTemplate).from), Rule: "the user's"},
	{ID: "template:delete", Who: U, makes: makerOf((*DeleteTemplate).from), Rule: "the user's"},

	{ID: "watch", Who: O | U, Planned: true, Rule: reads},
	{ID: "since", Who: O | U, Rule: reads},
	{ID: "why", Who: O | U, Rule: reads},
	{ID: "events", Who: O | U, Planned: true, Rule: reads},

	{ID: "audit:export", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:verify", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:replay", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:head", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:denials", Who: U, Rule: "the user's, and an auditor's"},
	{ID: "audit:can", Who: U, Rule: "the user's, and an auditor's"},

	{ID: "token:create", Who: U, makes: makerOf((*CreateToken).from), Rule: "the user's"},
	{ID: "token:list", Who: U, Rule: "the user's"},
	{ID: "token:revoke", Who: U, makes: makerOf((*RevokeToken).from), Rule: "the user's"},
	{ID: "runner:enroll", Who: U, Events: "runner.enrolled", Rule: "the user's"},
	{ID: "runner:list", Who: U, Planned: true, Rule: "the user's"},
	{ID: "runner:revoke", Who: U, Events: "runner.revoked", Rule: "the user's"},

	{ID: "session:claim", Who: R, Events: "session.claimed", Rule: "the session is assigned to this runner"},
	{ID: "session:exited", Who: R, Events: "session.exited", Rule: "the session is assigned to this runner"},
	{ID: "session:usage", Who: R, Events: "session.used", Rule: "the session is assigned to this runner"},
	{ID: "sandbox:blocked", Who: R, Events: "sandbox.blocked", Rule: "the session is assigned to this runner"},
	{ID: "preflight:failed", Who: R, Events: "preflight.failed", Rule: "the session is assigned to this runner"},

	{ID: "session:lost", Who: S, makes: makerOf((*LoseSession).from), Rule: "the deadline passed"},
	{ID: "session:recovered", Who: S, makes: makerOf((*RecoverSession).from), Rule: "the deadline passed"},
	{ID: "session:timed-out", Who: S, makes: makerOf((*TimeOutSession).from), Rule: "the deadline passed"},
	{ID: "queue:return", Who: S, makes: makerOf((*ReturnItem).from), Rule: "the deadline passed"},
	{ID: "queue:quarantine", Who: S, makes: makerOf((*QuarantineItem).from), Rule: "the deadline passed"},
	{ID: "limit:reached", Who: S, Events: "limit.reached", Rule: "the deadline passed"},
}

// The permitted alternatives to a command that a session may not use, the best first. For all other commands, see asks.
var alternatives = map[string][]string{
	"task:complete":     {"report:complete"},
	"task:block":        {"report:blocked"},
	"task:update":       {"report:progress"},
	"task:tree":         {"task:children", "task:list"},
	"session:spawn":     {"task:create"},
	"session:list":      {"session:info"},
	"session:update":    {"session:note"},
	"worker:init":       {"orchestrator:init"},
	"orchestrator:init": {"worker:init"},
	"queue:top":         {"task:list"},
	"queue:list":        {"task:list"},
	"queue:status":      {"status"},
	"queue:start":       {"task:list"},
	"queue:complete":    {"report:complete"},
	"queue:fail":        {"report:error"},
	"queue:skip":        {"report:blocked"},
	"queue:push":        {"task:create"},
	"project:list":      {"status"},
	"project:get":       {"status"},
	"inbox":             {"input:wait"},
	"input:list":        {"input:wait"},
	"since":             {"task:get", "status"},
	"why":               {"task:get", "status"},
	"audit:denials":     {"since", "status"},
	"task:list":         {"status"},
	"task:get":          {"task:list", "status"},
	"task:children":     {"task:list", "status"},
	"task:delete":       {"task:block"},
	"report:progress":   {"session:note"},
	"report:complete":   {"session:note"},
	"report:blocked":    {"session:note"},
	"report:error":      {"session:note"},
}

// asks are the commands with which a session asks somebody who may do it.
var asks = []string{"report:needs-input", "session:message", "commands"}

// spelled are the command lines of the alternatives.
var spelled = map[string]string{
	"report:complete":    `maestro report complete "<summary>" --task <taskId>`,
	"report:blocked":     `maestro report blocked "<reason>" --task <taskId>`,
	"report:error":       `maestro report error "<description>" --task <taskId>`,
	"report:progress":    `maestro report progress "<message>" --task <taskId>`,
	"report:needs-input": `maestro report needs-input "<question>"`,
	"task:children":      `maestro task children <taskId>`,
	"task:list":          `maestro task list --mine`,
	"task:create":        `maestro task create "<title>" --parent <taskId>`,
	"task:block":         `maestro task block <taskId> "<reason>"`,
	"task:get":           `maestro task get <taskId> --timeline`,
	"session:info":       `maestro session info`,
	"session:message":    `maestro session message parent "<text>"`,
	"session:note":       `maestro session note "<message>"`,
	"orchestrator:init":  `maestro orchestrator init`,
	"worker:init":        `maestro worker init`,
	"input:wait":         `maestro input wait`,
	"since":              `maestro since 10m`,
	"status":             `maestro status`,
	"commands":           `maestro commands`,
}
