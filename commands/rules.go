package commands

import (
	"sync"

	"maestro/events"
)

const (
	asProgress = "as report:progress"
	reads      = "reads"
	alive      = "the session is its own and alive"
	itsSpawned = "a session that it spawned"
	atMost     = "an orchestrator gives a worker its default set, beyond that only what it may use itself; " +
		"another orchestrator at most its own set; " +
		"and no session more than its own permission mode, network and directory"
	// what its predecessor spawned: [projections.State.Succeeds]
	itsLed               = itsSpawned + ", or its predecessor"
	openOnly             = "the question is open; an orchestrator: " + itsLed
	emptyOnly            = "no tasks, no sessions; an orchestrator only one that it created"
	doneOrBlocked        = "the task is completed, blocked, or reported as done"
	byOrchestratorOrUser = "an orchestrator's decision, or the user's"
	fits                 = "title 1–200; parent in the same project; dependencies exist, no cycle"
	completes            = "as report:progress; without tasks the session completes"
	ownTasks             = "own tasks, their descendants, tasks it created; an orchestrator: its project's"
	manifestKnown        = "manifest valid, digest known"
	assigned             = "the session is assigned to this runner"
)

// rows are all versions of the table, in the order of docs/contract.md, "Permissions": a row that a later version added
// or changed names that version, and who could use it before. A row with a command names its maker; other rows with an
// event are for writes yet to come.
var rows = sync.OnceValue(func() []Row {
	return []Row{
		{ID: "whoami", Who: agents | RoleUser | RoleRunner | RoleSystem, Core: true, Rule: reads},
		{ID: "status", Who: agents | RoleUser | RoleRunner | RoleSystem, Core: true, Rule: reads},
		{ID: "commands", Who: agents | RoleUser | RoleRunner | RoleSystem, Core: true, Rule: reads},

		{
			ID:    "session:register",
			Who:   agents | RoleUser,
			Core:  true,
			makes: makerOf((*RegisterSession).from),
			Rule:  alive,
		},
		{
			ID:    "session:complete",
			Who:   agents | RoleUser,
			Core:  true,
			Waits: true,
			makes: makerOf((*CompleteSession).from),
			Rule:  alive,
		},
		{
			ID:    "track-file",
			Who:   agents | RoleUser,
			Core:  true,
			Waits: true,
			makes: makerOf((*TrackFile).from),
			Rule:  alive,
		},
		{ID: "worker:init", Who: workers, Core: true, makes: begins(events.RoleWorker), Rule: manifestKnown},
		{
			ID:    "orchestrator:init",
			Who:   RoleOrchestrator,
			Core:  true,
			makes: begins(events.RoleOrchestrator),
			Rule:  manifestKnown,
		},

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

		{ID: "task:list", Who: agents | RoleUser, Rule: reads},
		{ID: "task:get", Who: agents | RoleUser, Rule: reads},
		{ID: "task:children", Who: agents | RoleUser, Rule: reads},
		{ID: "task:tree", Who: RoleTreeWorker | RoleOrchestrator | RoleUser, Rule: reads},
		{ID: "task:create", Who: agents | RoleUser, makes: makerOf((*CreateTask).from), Rule: fits},
		{
			ID:    "task:update",
			Who:   RoleOrchestrator | RoleUser,
			makes: makerOf((*UpdateTask).from),
			Rule:  "cancelled: the user only",
		},
		{
			ID:    "task:complete",
			Who:   RoleOrchestrator | RoleUser,
			makes: makerOf((*CompleteTask).from),
			Rule:  byOrchestratorOrUser,
		},
		{
			ID:    "task:block",
			Who:   RoleOrchestrator | RoleUser,
			makes: makerOf((*BlockTask).from),
			Rule:  byOrchestratorOrUser,
		},
		{ID: "task:reopen", Who: RoleOrchestrator | RoleUser, makes: makerOf((*ReopenTask).from), Rule: doneOrBlocked},
		{ID: "task:delete", Who: RoleUser, makes: makerOf((*DeleteTask).from), Rule: "the user's"},

		{ID: "session:list", Who: RoleOrchestrator | RoleUser, Rule: reads},
		{ID: "session:info", Who: agents | RoleUser, Rule: reads},
		{ID: "session:spawn", Who: RoleOrchestrator | RoleUser, makes: makerOf((*SpawnSession).from), Rule: atMost},
		{
			ID:     "session:kill",
			Who:    RoleOrchestrator | RoleUser,
			beyond: whereThoseBelowWork,
			makes:  makerOf((*KillSession).from),
			Rule:   "an orchestrator: " + itsLed + ", or one below it",
		},
		{
			ID:     "session:message",
			Who:    agents | RoleUser,
			beyond: whereItsSpawnerWorks,
			since:  thirdRules,
			before: RoleOrchestrator | RoleUser,
			makes:  makerOf((*MessageSession).from),
			Rule: "a session writes to the one that spawned it, and an orchestrator to those that it or its " +
				"predecessor spawned",
		},
		{
			ID:    "session:update",
			Who:   RoleOrchestrator | RoleUser,
			makes: makerOf((*UpdateSession).from),
			Rule:  "an orchestrator: " + itsSpawned,
		},
		{
			ID:    "session:resume",
			Who:   RoleOrchestrator | RoleUser,
			built: sixthRules,
			makes: makerOf((*ResumeSession).from),
			Rule:  "an orchestrator: " + itsSpawned,
		},

		{ID: "queue:top", Who: RoleQueueWorker | RoleUser, Rule: reads},
		{ID: "queue:list", Who: RoleQueueWorker | RoleUser, Rule: reads},
		{ID: "queue:status", Who: RoleQueueWorker | RoleUser, Rule: reads},
		{
			ID:    "queue:start",
			Who:   RoleQueueWorker | RoleUser,
			makes: makerOf((*StartItem).from),
			Rule:  "the first eligible item",
		},
		{
			ID:    "queue:complete",
			Who:   RoleQueueWorker | RoleUser,
			makes: makerOf((*CompleteItem).from),
			Rule:  "it holds the item",
		},
		{
			ID:    "queue:fail",
			Who:   RoleQueueWorker | RoleUser,
			makes: makerOf((*FailItem).from),
			Rule:  "it holds the item",
		},
		{
			ID:    "queue:skip",
			Who:   RoleQueueWorker | RoleUser,
			makes: makerOf((*SkipItem).from),
			Rule:  "it holds the item, or the item is the next one",
		},
		{
			ID:    "queue:push",
			Who:   RoleQueueWorker | RoleUser,
			makes: makerOf((*PushItem).from),
			Rule:  "the task is not in the queue",
		},

		{ID: "project:list", Who: RoleOrchestrator | RoleUser, Rule: "an orchestrator sees its own project"},
		{ID: "project:get", Who: RoleOrchestrator | RoleUser, Rule: "an orchestrator sees its own project"},
		{ID: "project:create", Who: RoleOrchestrator | RoleUser, makes: makerOf((*CreateProject).from), Rule: "a name"},
		{
			ID:    "project:delete",
			Who:   RoleOrchestrator | RoleUser,
			makes: makerOf((*DeleteProject).from),
			Rule:  emptyOnly,
		},

		{ID: "inbox", Who: RoleOrchestrator | RoleUser, Rule: "an orchestrator: " + itsLed},
		{ID: "input:list", Who: RoleOrchestrator | RoleUser, Rule: "an orchestrator: " + itsLed},
		{ID: "input:answer", Who: RoleOrchestrator | RoleUser, makes: makerOf((*AnswerInput).from), Rule: openOnly},
		{ID: "manifest:generate", Who: RoleOrchestrator | RoleUser, Rule: reads},
		{
			ID:    "manifest:show",
			Who:   RoleOrchestrator | RoleUser,
			since: thirdRules,
			Rule:  "its own is part of whoami; an orchestrator: " + itsSpawned,
		},
		{ID: "manifest:schema", Who: RoleOrchestrator | RoleUser, since: thirdRules, Rule: reads},
		{
			ID:    "session:note",
			Who:   agents | RoleUser,
			makes: makerOf((*NoteSession).from),
			Rule:  "its own session; no type that reports, decisions or the end of a command write",
		},
		{ID: "input:received", Who: agents, makes: makerOf((*ReceiveInput).from), Rule: "its own question"},
		{ID: "input:wait", Who: agents, since: thirdRules, Rule: "its own mail"},
		{ID: "queue:create", Who: RoleUser, makes: makerOf((*CreateQueue).from), Rule: "the user's"},
		{
			ID:    "queue:requeue",
			Who:   RoleUser,
			makes: makerOf((*RequeueItem).from),
			Rule:  "quarantined, failed or skipped items",
		},
		{ID: "queue:move", Who: RoleUser, since: thirdRules, makes: makerOf((*MoveItem).from), Rule: "queued items"},
		{
			ID:    "queue:remove",
			Who:   RoleUser,
			since: thirdRules,
			makes: makerOf((*RemoveItem).from),
			Rule:  "items that nobody holds",
		},
		{
			ID:    "queue:delete",
			Who:   RoleUser,
			since: thirdRules,
			makes: makerOf((*DeleteQueue).from),
			Rule:  "nothing queued, nothing held",
		},

		{ID: "project:update", Who: RoleUser, makes: makerOf((*UpdateProject).from), Rule: "the user's"},
		{ID: "session:delete", Who: RoleUser, makes: makerOf((*DeleteSession).from), Rule: "the user's"},
		{ID: "session:link", Who: RoleUser, makes: makerOf((*LinkTask).from), Rule: "the user's"},
		{ID: "session:unlink", Who: RoleUser, makes: makerOf((*UnlinkTask).from), Rule: "the user's"},
		{ID: "template:list", Who: RoleOrchestrator | RoleUser, since: thirdRules, Rule: reads},
		{
			ID:    "template:get",
			Who:   RoleOrchestrator | RoleUser,
			since: thirdRules,
			Rule:  "the workflow of its own prompts is part of whoami",
		},
		{ID: "template:create", Who: RoleUser, makes: makerOf((*CreateTemplate).from), Rule: "the user's"},
		{ID: "template:update", Who: RoleUser, makes: makerOf((*UpdateTemplate).from), Rule: "the user's"},
		{ID: "template:reset", Who: RoleUser, makes: makerOf((*ResetTemplate).from), Rule: "the user's"},
		{ID: "template:delete", Who: RoleUser, makes: makerOf((*DeleteTemplate).from), Rule: "the user's"},

		{ID: "watch", Who: RoleOrchestrator | RoleUser, built: fourthRules, Rule: reads},
		{ID: "since", Who: RoleOrchestrator | RoleUser, Rule: reads},
		{ID: "why", Who: RoleOrchestrator | RoleUser, Rule: reads},
		{ID: "events", Who: RoleOrchestrator | RoleUser, built: fifthRules, Rule: reads},

		{ID: "audit:export", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{ID: "audit:verify", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{ID: "audit:replay", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{ID: "audit:head", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{ID: "audit:denials", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{ID: "audit:can", Who: RoleUser, Rule: "the user's, and an auditor's"},
		{
			ID:    "audit:redact",
			Who:   RoleUser,
			since: fifthRules,
			makes: makerOf((*RedactText).from),
			Rule:  "a long text",
		},

		{ID: "token:create", Who: RoleUser, makes: makerOf((*CreateToken).from), Rule: "the user's"},
		{ID: "token:list", Who: RoleUser, Rule: "the user's"},
		{ID: "token:revoke", Who: RoleUser, makes: makerOf((*RevokeToken).from), Rule: "the user's"},
		{
			ID:    "webhook:create",
			Who:   RoleUser,
			since: fifthRules,
			makes: makerOf((*CreateWebhook).from),
			Rule:  "the user's",
		},
		{
			ID:    "webhook:update",
			Who:   RoleUser,
			since: fifthRules,
			makes: makerOf((*UpdateWebhook).from),
			Rule:  "the user's",
		},
		{
			ID:    "webhook:delete",
			Who:   RoleUser,
			since: fifthRules,
			makes: makerOf((*DeleteWebhook).from),
			Rule:  "the user's",
		},
		{
			ID:    "webhook:resume",
			Who:   RoleUser,
			since: fifthRules,
			makes: makerOf((*ResumeWebhook).from),
			Rule:  "the user's",
		},
		{ID: "webhook:list", Who: RoleUser, since: fifthRules, Rule: "the user's, and an auditor's"},
		{ID: "webhook:get", Who: RoleUser, since: fifthRules, Rule: "the user's, and an auditor's"},
		{ID: "runner:enroll", Who: RoleUser, Events: "runner.enrolled", Rule: "the user's"},
		{ID: "runner:list", Who: RoleUser, built: sixthRules, Rule: "the user's"},
		{ID: "runner:revoke", Who: RoleUser, Events: "runner.revoked", Rule: "the user's"},

		{
			ID:    "session:claim",
			Who:   RoleRunner,
			built: sixthRules,
			makes: makerOf((*ClaimSession).from),
			Rule:  "the session is assigned to this runner, or nobody has it and this is a terminal",
		},
		{
			ID:    "session:exited",
			Who:   RoleRunner,
			built: sixthRules,
			makes: makerOf((*ExitSession).from),
			Rule:  assigned,
		},
		{
			ID:    "session:usage",
			Who:   RoleRunner,
			built: sixthRules,
			makes: makerOf((*UseSession).from),
			Rule:  assigned,
		},
		{
			ID:    "sandbox:blocked",
			Who:   RoleRunner,
			built: sixthRules,
			makes: makerOf((*BlockCommand).from),
			Rule:  assigned,
		},
		{
			ID:    "preflight:failed",
			Who:   RoleRunner,
			built: sixthRules,
			makes: makerOf((*FailPreflight).from),
			Rule:  assigned,
		},
		{
			ID:    "session:stuck",
			Who:   RoleRunner,
			since: sixthRules,
			makes: makerOf((*MarkStuck).from),
			Rule:  assigned,
		},

		{
			ID:    "token:used",
			Who:   RoleSystem,
			since: fifthRules,
			makes: makerOf((*UseToken).from),
			Rule:  "a login, or a new address",
		},
		{ID: "session:lost", Who: RoleSystem, makes: makerOf((*LoseSession).from), Rule: "the deadline passed"},
		{ID: "session:recovered", Who: RoleSystem, makes: makerOf((*RecoverSession).from), Rule: "the deadline passed"},
		{ID: "session:timed-out", Who: RoleSystem, makes: makerOf((*TimeOutSession).from), Rule: "the deadline passed"},
		{ID: "queue:return", Who: RoleSystem, makes: makerOf((*ReturnItem).from), Rule: "the deadline passed"},
		{ID: "queue:quarantine", Who: RoleSystem, makes: makerOf((*QuarantineItem).from), Rule: "the deadline passed"},
		{
			ID:    "webhook:park",
			Who:   RoleSystem,
			since: fifthRules,
			makes: makerOf((*ParkWebhook).from),
			Rule:  "its receiver failed for as long as the server is patient, or is gone",
		},
		{ID: "limit:reached", Who: RoleSystem, Events: "limit.reached", Rule: "the deadline passed"},
	}
})

// The alternatives to a command that a session may not use, the best first. For all other commands, see asks.
var alternatives = map[string][]string{
	"task:complete":      {"report:complete"},
	"task:block":         {"report:blocked"},
	"task:update":        {"report:progress"},
	"task:tree":          {"task:children", "task:list"},
	"session:spawn":      {"task:create"},
	"session:list":       {"session:info"},
	"session:update":     {"session:note"},
	"worker:init":        {"orchestrator:init"},
	"orchestrator:init":  {"worker:init"},
	"queue:top":          {"task:list"},
	"queue:list":         {"queue:top", "status", "task:list"},
	"queue:status":       {"status"},
	"queue:start":        {"task:list"},
	"queue:complete":     {"report:complete"},
	"queue:fail":         {"report:error"},
	"queue:skip":         {"report:blocked"},
	"project:list":       {"status"},
	"project:get":        {"status"},
	"inbox":              {"input:wait"},
	"input:list":         {"input:wait"},
	"watch":              {"since", "input:wait", "status"},
	"since":              {"task:get", "status"},
	"events":             {"since", "task:get", "status"},
	"why":                {"task:get", "status"},
	"audit:denials":      {"since", "status"},
	"task:list":          {"status"},
	"task:get":           {"task:list", "status"},
	"task:children":      {"task:list", "status"},
	"task:delete":        {"task:block"},
	"report:progress":    {"session:note"},
	"report:complete":    {"session:note", "report:progress"},
	"report:blocked":     {"session:note", "report:needs-input", "session:message", "report:error", "report:progress"},
	"report:error":       {"session:note", "report:blocked", "report:needs-input", "report:progress"},
	"report:needs-input": {"session:message", "report:blocked", "report:progress"},
}

// asks are the commands by which a session asks somebody who has the permission.
var asks = []string{"report:needs-input", "session:message", "commands"}

// LineOf returns the command line of an alternative, with placeholders.
func LineOf(id string) string { return spelled[id] }

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
	"queue:top":          `maestro queue top`,
	"commands":           `maestro commands`,
}
