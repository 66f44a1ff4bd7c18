package commands

import (
	"fmt"

	"maestro/events"
	"maestro/projections"
)

// Limit is one documented bound. docs/limits.md is generated from the rows below.
type Limit struct {
	// Name identifies the limit in errors and in docs/limits.md.
	Name string
	// Value is the largest number that is allowed, in Unit.
	Value int64
	Unit  string
	// Bounds says what the number counts, Answer what a caller above it gets.
	Bounds string
	Answer string
}

// LimitGroup is a section of docs/limits.md.
type LimitGroup struct {
	Title string
	// Intro is a paragraph above the table; may be empty.
	Intro  string
	Limits []Limit
}

// What a caller above a limit gets.
const (
	answerTooLarge = "413 `TOO_LARGE`"
	answerLimit    = "422 `LIMIT_EXCEEDED`"
	answerInvalid  = "400 `VALIDATION_ERROR`"
	answerCut      = "a cut answer"
)

// Limits gives every limit that the server enforces, in the order of docs/limits.md.
func Limits() []LimitGroup {
	return []LimitGroup{
		{
			Title:  "Request bodies",
			Intro:  "The server checks these while it reads a JSON body, before it decides anything.",
			Limits: []Limit{LimitBody, LimitNames, LimitDepth, LimitValues},
		},
		{
			Title:  "Calls",
			Intro:  "The server checks this before it does the first of the commands, and pays for all of them.",
			Limits: []Limit{LimitCallCommands},
		},
		{
			Title:  "Sessions",
			Limits: []Limit{LimitLateReports, LimitLateBytes, LimitMail, LimitMailFromOne, LimitMessage},
		},
		{
			Title: "The inbox",
			Intro: "These hide nothing: `maestro inbox --session` lists all that one session did, and a timeline has " +
				"the whole texts.",
			Limits: []Limit{LimitInboxItems, LimitInboxLate, LimitInboxRefused, LimitInboxAllRefused, LimitInboxText},
		},
		{
			Title: "Tasks and sessions in answers",
			Intro: "These hide nothing either: `maestro task get` shows the whole statements of a task, and a " +
				"timeline everything that happened.",
			Limits: []Limit{LimitListedText, LimitListedSays, LimitSums, LimitUnlinked, LimitAround},
		},
		{
			Title: "Fields of commands",
			Intro: "The server checks these before it decides a command. They hold on every route.", Limits: []Limit{
				LimitID, LimitTitle, LimitName, LimitType, LimitPath, LimitText, LimitLongText, LimitEntries, LimitIDs,
				LimitDependencies, LimitAllowed,
				LimitOptions, LimitFree, LimitEnv, LimitEnvBytes,
			},
		},
		{
			Title: "Tasks, sessions and queues",
			Intro: "These bound what one command can cost the writer, which decides one command after another. " +
				"They hold for what is new: an older log keeps what it has.",
			Limits: []Limit{
				LimitTaskDepth,
				LimitDependents,
				LimitGraph,
				LimitDeleted,
				LimitTaskSessions,
				LimitSessionTasks,
				LimitTaskQueues,
				LimitAwaited,
				LimitTrusted,
				LimitDeletedItems,
				LimitMoved,
				LimitReportWords,
				LimitTreeDepth,
				LimitTreeTasks,
				LimitItemsListed,
				LimitStatusListed,
				LimitWaitsNamed,
				LimitWaitsLooked,
				LimitWhySteps,
				LimitWhyEvents,
				LimitWhyQueues,
			},
		},
	}
}

// MaxRequest is the longest body of a request, in bytes.
const MaxRequest = 1 << 20

// Limits of request bodies.
var (
	LimitBody = Limit{
		Name:   "body-bytes",
		Value:  MaxRequest,
		Unit:   "bytes",
		Answer: answerTooLarge,
		Bounds: "a request body; a manifest has a limit of its own",
	}
	LimitNames = Limit{
		Name:   "json-names",
		Value:  1000,
		Unit:   "names",
		Answer: answerLimit,
		Bounds: "names in one JSON object",
	}
	LimitDepth = Limit{
		Name:   "json-depth",
		Value:  64,
		Unit:   "levels",
		Answer: answerLimit,
		Bounds: "JSON objects and lists inside each other",
	}
	LimitValues = Limit{
		Name:   "json-values",
		Value:  20_000,
		Unit:   "values",
		Answer: answerLimit,
		Bounds: "values in one JSON body, at all levels together",
	}
)

// ManifestAround is how many tasks below those of a session a manifest tells of, and how many that depend on them.
const ManifestAround = 100

// LimitCallCommands bounds what one call can keep the writer busy with.
var LimitCallCommands = Limit{
	Name:   "call-commands",
	Value:  200,
	Unit:   "commands",
	Answer: answerLimit,
	Bounds: "commands that one call comes to: a PATCH of an older client, or `?tree=true` of a session, which counts " +
		"those that live below; `?tree=true` of a user has no limit",
}

// CheckCall fails with a *Refusal if a call comes to more commands than one may.
func CheckCall(n int) error {
	if int64(n) > LimitCallCommands.Value {
		return LimitCallCommands.exceeded("", "a call", int64(n))
	}
	return nil
}

// CheckTold fails with a *Refusal if a manifest is asked for of more tasks than a session may have, or of tasks that
// wait for more than a new session may wait for.
func CheckTold(tasks, dependencies int) error {
	if int64(tasks) > LimitSessionTasks.Value {
		return LimitSessionTasks.exceeded("/taskIds", "a manifest", int64(tasks))
	}
	if int64(dependencies) > LimitGraph.Value {
		return LimitGraph.exceeded("/taskIds", "what the tasks wait for", int64(dependencies))
	}
	return nil
}

// Limits of what a session adds to the log after its end.
var (
	LimitLateReports = Limit{
		Name:   "late-reports",
		Value:  1000,
		Unit:   "reports",
		Answer: answerLimit,
		Bounds: "reports that one session delivers after its end",
	}
	LimitLateBytes = Limit{
		Name:   "late-bytes",
		Value:  4 * events.MaxText,
		Unit:   "bytes",
		Answer: answerLimit,
		Bounds: "what one session reports after its end: messages, task ids and options; a message longer than " +
			"`text` counts as that limit",
	}
)

// Limits of the messages that wait for a session which runs no command. No sender takes the room of another, and
// sessions do not take that of the users.
var (
	LimitMail = Limit{
		Name:   "mail",
		Value:  100,
		Unit:   "messages",
		Answer: answerLimit,
		Bounds: "messages from sessions, as many from users, and as many answers to its questions before a session gives " +
			"one more, that one session was not shown yet",
	}
	LimitMailFromOne = Limit{
		Name:   "mail-from-one",
		Value:  10,
		Unit:   "messages",
		Answer: answerLimit,
		Bounds: "messages from one session that another one was not shown yet",
	}
	LimitMessage = Limit{
		Name:   "message",
		Value:  8 << 10,
		Unit:   "bytes",
		Answer: answerLimit,
		Bounds: "the text of a message to a session: its agent reads all of it",
	}
)

// Limits of what one session, or one queue, adds to an inbox.
var (
	LimitInboxItems = Limit{
		Name:   "inbox-items",
		Value:  projections.InboxListed,
		Unit:   "items",
		Answer: answerCut,
		Bounds: "items of one kind that one session or one queue adds, the longest wait first; " +
			"one more item counts the others",
	}
	LimitInboxLate = Limit{
		Name:   "inbox-late",
		Value:  projections.InboxLateListed,
		Unit:   "items",
		Answer: answerCut,
		Bounds: "late reports of one session, the newest; one more item counts the others",
	}
	LimitInboxRefused = Limit{
		Name:   "inbox-refused",
		Value:  20,
		Unit:   "items",
		Answer: answerCut,
		Bounds: "kept commands of one session that were refused, the newest; one more item counts the others",
	}
	LimitInboxAllRefused = Limit{
		Name:   "inbox-all-refused",
		Value:  500,
		Unit:   "items",
		Answer: answerCut,
		Bounds: "the same of all sessions together",
	}
	LimitInboxText = Limit{
		Name:   "inbox-text",
		Value:  projections.InboxText,
		Unit:   "bytes",
		Answer: answerCut,
		Bounds: "the message of an item; one that is longer has `cut`",
	}
)

// Limits of what an answer shows of tasks and sessions.
var (
	LimitListedText = Limit{
		Name:   "listed-text",
		Value:  projections.ListedText,
		Unit:   "bytes",
		Answer: answerCut,
		Bounds: "a result or a reason of a task in a list; one that is longer has `cut`",
	}
	LimitListedSays = Limit{
		Name:   "listed-says",
		Value:  projections.ListedSays,
		Unit:   "words",
		Answer: answerCut,
		Bounds: "what the sessions of a task say, as a list or a tree shows it, the newest; " +
			"a number beside it (`saysMore`) counts the others",
	}
	LimitSums = Limit{
		Name:   "progress-steps",
		Value:  projections.SumsMost,
		Unit:   "steps",
		Answer: answerCut,
		Bounds: "work of one answer to sum up what lies below its tasks; " +
			"a sum says how many tasks were found and not looked at (`unread`)",
	}
	LimitAround = Limit{
		Name:   "manifest-around",
		Value:  ManifestAround,
		Unit:   "tasks",
		Answer: answerCut,
		Bounds: "the tasks below those of a session that its generated manifest tells of, and as many that depend on " +
			"them; 10,000 of either are looked at, deleted ones too",
	}
	LimitUnlinked = Limit{
		Name:   "unlinked",
		Value:  projections.MaxUnlinked,
		Unit:   "tasks",
		Answer: answerCut,
		Bounds: "the tasks that were taken from a session and that it shows, the newest",
	}
)

// Limits of the fields of commands. What fields.go gives one of these is checked there, unless the answer is
// VALIDATION_ERROR: that is for the decision.
var (
	LimitID = Limit{
		Name:   "id",
		Value:  maxID,
		Unit:   "characters",
		Answer: answerInvalid,
		Bounds: "an id; an id in a plan",
	}
	LimitTitle = Limit{
		Name:   "title",
		Value:  maxTitle,
		Unit:   "characters",
		Answer: answerInvalid,
		Bounds: "the title of a task, an option of a question",
	}
	LimitName = Limit{
		Name:   "name",
		Value:  MaxName,
		Unit:   "characters",
		Answer: answerInvalid,
		Bounds: "a name, a model, an agent, a mode, a role, a status",
	}
	LimitType = Limit{
		Name:   "entry-type",
		Value:  maxType,
		Unit:   "characters",
		Answer: answerInvalid,
		Bounds: "the type of an entry on a timeline",
	}
	LimitPath = Limit{
		Name:   "path",
		Value:  maxPath,
		Unit:   "characters",
		Answer: answerInvalid,
		Bounds: "a path",
	}
	LimitText = Limit{
		Name:   "text",
		Value:  events.MaxText,
		Unit:   "bytes",
		Answer: answerInvalid,
		Bounds: "a reason, an answer, a message to a session, a template, an entry of a list of texts",
	}
	LimitLongText = Limit{
		Name:   "long-text",
		Value:  MaxRequest,
		Unit:   "bytes",
		Answer: answerTooLarge,
		Bounds: "a description, a prompt, the message of a report",
	}
	LimitEntries = Limit{
		Name:   "entries",
		Value:  1000,
		Unit:   "entries",
		Answer: answerLimit,
		Bounds: "acceptance criteria or labels of a task; skills or agents in one list",
	}
	LimitIDs = Limit{
		Name:   "ids",
		Value:  maxList,
		Unit:   "ids",
		Answer: answerLimit,
		Bounds: "tasks or projects that one command names",
	}
	LimitDependencies = Limit{
		Name:   "dependencies",
		Value:  200,
		Unit:   "dependencies",
		Answer: answerLimit,
		Bounds: "tasks that one task depends on",
	}
	LimitAllowed = Limit{
		Name:   "allowed-commands",
		Value:  200,
		Unit:   "commands",
		Answer: answerLimit,
		Bounds: "`allowedCommands` of a session",
	}
	LimitOptions = Limit{
		Name:   "options",
		Value:  maxOptions,
		Unit:   "options",
		Answer: answerInvalid,
		Bounds: "options of a question",
	}
	LimitFree = Limit{
		Name:   "free-json",
		Value:  events.MaxText,
		Unit:   "bytes",
		Answer: answerLimit,
		Bounds: "free JSON: `metadata`, `context`, `data`; the limits of JSON bodies hold in it too",
	}
	LimitEnv = Limit{
		Name:   "env",
		Value:  200,
		Unit:   "variables",
		Answer: answerLimit,
		Bounds: "environment of a session, with what it has already",
	}
	LimitEnvBytes = Limit{
		Name:   "env-bytes",
		Value:  events.MaxText,
		Unit:   "bytes",
		Answer: answerLimit,
		Bounds: "environment of a session: all names and values together",
	}
)

// Limits of what one command can cost the writer.
var (
	LimitTaskDepth = Limit{
		Name:   "task-depth",
		Value:  100,
		Unit:   "levels",
		Answer: answerLimit,
		Bounds: "levels of tasks from a root down to a new task",
	}
	LimitDependents = Limit{
		Name:   "dependents",
		Value:  1000,
		Unit:   "dependents",
		Answer: answerLimit,
		Bounds: "tasks that depend on one task",
	}
	LimitGraph = Limit{
		Name:   "graph-steps",
		Value:  50_000,
		Unit:   "dependencies",
		Answer: answerLimit,
		Bounds: "dependencies that one command follows: to find a cycle, what the tasks of a new session wait for, or both " +
			"ways from the tasks that a recursive deletion takes",
	}
	LimitDeleted = Limit{
		Name:   "deleted-tasks",
		Value:  5000,
		Unit:   "tasks below it",
		Answer: answerLimit,
		Bounds: "tasks that go with a task that is deleted recursively",
	}
	LimitTaskSessions = Limit{
		Name:   "task-sessions",
		Value:  1000,
		Unit:   "sessions",
		Answer: answerLimit,
		Bounds: "sessions that have or had one task, and sessions that reported on it",
	}
	LimitSessionTasks = Limit{
		Name:   "session-tasks",
		Value:  1000,
		Unit:   "tasks",
		Answer: answerLimit,
		Bounds: "tasks of one session",
	}
	LimitTaskQueues = Limit{
		Name:   "task-queues",
		Value:  1000,
		Unit:   "queues",
		Answer: answerLimit,
		Bounds: "queues that one task is in",
	}
	LimitAwaited = Limit{
		Name:   "awaited-items",
		Value:  5000,
		Unit:   "items",
		Answer: answerLimit,
		Bounds: "items, queued or in hand, of the tasks that depend on one task",
	}
	LimitTrusted = Limit{
		Name:   "trusted-items",
		Value:  projections.MaxTrusted,
		Unit:   "items",
		Answer: answerLimit,
		Bounds: "items, queued or in hand, in the queues of one project that trust reports",
	}
	LimitMoved = Limit{
		Name:   "moved-items",
		Value:  10_000,
		Unit:   "queued items",
		Answer: answerLimit,
		Bounds: "queued items of a queue in which one is moved",
	}
	LimitDeletedItems = Limit{
		Name:   "deleted-items",
		Value:  10_000,
		Unit:   "items",
		Answer: answerLimit,
		Bounds: "items, queued or in hand, of the tasks that one recursive deletion takes, and of those that depend " +
			"on them",
	}
	LimitReportWords = Limit{
		Name:   "report-words",
		Value:  50_000,
		Unit:   "words",
		Answer: answerLimit,
		Bounds: "what sessions say of the tasks that one report names, that a queued task newly depends on, or that " +
			"tasks depend on which come into a queue that trusts reports; each session counts once for each task",
	}
	LimitTreeDepth = Limit{
		Name:   "tree-depth",
		Value:  projections.MaxTreeDepth,
		Unit:   "levels",
		Answer: answerCut,
		Bounds: "levels that one read of a tree shows; a task at the end says how many are below it (`below`)",
	}
	LimitTreeTasks = Limit{
		Name:   "tree-tasks",
		Value:  projections.MaxTreeTasks,
		Unit:   "tasks",
		Answer: answerCut,
		Bounds: "tasks below the roots that one read of trees shows; a task says how many are below it and not shown " +
			"(`below`)",
	}
	LimitItemsListed = Limit{
		Name:   "queue-items",
		Value:  projections.ItemsListed,
		Unit:   "items",
		Answer: answerCut,
		Bounds: "items of a queue that one read lists; it leaves out those that are done with first, and says " +
			"how many (`itemsMore`)",
	}
	LimitWaitsNamed = Limit{
		Name:   "waits-named",
		Value:  projections.WaitsNamed,
		Unit:   "dependencies",
		Answer: answerCut,
		Bounds: "unmet dependencies that an item of a queue, or of the inbox, names; it counts the others",
	}
	LimitWaitsLooked = Limit{
		Name:   "waits-looked",
		Value:  projections.WaitsLooked,
		Unit:   "dependencies",
		Answer: answerCut,
		Bounds: "dependencies of waiting items that one list of a queue, or the inbox of a project, looks at; an item of a " +
			"queue then says how many it has, and the inbox how many items it did not look at (`unread`)",
	}
	LimitWhySteps = Limit{
		Name:   "why-steps",
		Value:  1000,
		Unit:   "events",
		Answer: answerCut,
		Bounds: "one chain of causes; its root names where it goes on",
	}
	LimitWhyEvents = Limit{
		Name:   "why-events",
		Value:  2000,
		Unit:   "events",
		Answer: answerCut,
		Bounds: "all chains of causes of one answer together; a root names where its chain goes on",
	}
	LimitWhyQueues = Limit{
		Name:   "why-queues",
		Value:  20,
		Unit:   "queues",
		Answer: answerCut,
		Bounds: "queues of a task that `why` tells of, first those where it is started, quarantined or queued; it " +
			"counts the others (`chainsMore`)",
	}
	LimitStatusListed = Limit{
		Name:   "status-listed",
		Value:  projections.StatusListed,
		Unit:   "entries",
		Answer: answerCut,
		Bounds: "each list of a project's status: what is said of tasks, lost sessions, queues; a number beside it " +
			"counts the others",
	}
)

// exceeded is the refusal of a caller that is above a limit. what names the thing that is too large: "metadata".
func (l Limit) exceeded(pointer, what string, have int64) *Refusal {
	code, number := CodeLimit, fmt.Sprintf("has %d", have)
	if l.Answer == answerTooLarge {
		code = CodeTooLarge
	}
	if have <= 0 {
		number = "has more"
	}
	return &Refusal{
		Code:    code,
		Pointer: pointer,
		Message: fmt.Sprintf("%s has at most %d %s (limit %s); this %s", what, l.Value, l.Unit, l.Name, number),
		Why:     l.Name + " bounds " + l.Bounds,
		Next:    "ask for less; docs/limits.md lists all limits",
	}
}
