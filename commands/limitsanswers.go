package commands

import "maestro/projections"

// ManifestAround bounds how many tasks below a session's tasks a manifest describes, and how many of their dependents.
const ManifestAround = 100

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
		Bounds: "the same, for all sessions together",
	}
	LimitInboxText = Limit{
		Name:   "inbox-text",
		Value:  projections.InboxText,
		Unit:   "bytes",
		Answer: answerCut,
		Bounds: "the message of an item; a longer one is cut and marked `cut`",
	}
)

// Limits of what an answer shows of tasks and sessions.
var (
	LimitListedText = Limit{
		Name:   "listed-text",
		Value:  projections.ListedText,
		Unit:   "bytes",
		Answer: answerCut,
		Bounds: "a result or a reason of a task in a list; a longer one is cut and marked `cut`",
	}
	LimitListedSays = Limit{
		Name:   "listed-says",
		Value:  projections.ListedSays,
		Unit:   "words",
		Answer: answerCut,
		Bounds: "the newest session reports on a task that a list or a tree shows; " +
			"a number beside it (`saysMore`) counts the others",
	}
	LimitSums = Limit{
		Name:   "progress-steps",
		Value:  projections.SumsMost,
		Unit:   "steps",
		Answer: answerCut,
		Bounds: "the work of one answer to sum up the subtasks of its tasks; " +
			"a sum says how many tasks were found and not looked at (`unread`)",
	}
	LimitAround = Limit{
		Name:   "manifest-around",
		Value:  ManifestAround,
		Unit:   "tasks",
		Answer: answerCut,
		Bounds: "the tasks below those of a session that its generated manifest lists, and as many that depend on " +
			"them; at most 10,000 of either are examined, including deleted ones",
	}
	LimitUnlinked = Limit{
		Name:   "unlinked",
		Value:  projections.MaxUnlinked,
		Unit:   "tasks",
		Answer: answerCut,
		Bounds: "the newest tasks unlinked from a session that it shows",
	}
)

// Limits of what one read of trees, queues, causes and statuses shows.
var (
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
		Bounds: "items of a queue that one read lists; it leaves out finished items first, and says " +
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
		Bounds: "dependencies of waiting items that one list of a queue, or the inbox of a project, looks at; an " +
			"item of a queue then says how many it has, and the inbox how many items it did not look at (`unread`)",
	}
	LimitWhySteps = Limit{
		Name:   "why-steps",
		Value:  1000,
		Unit:   "events",
		Answer: answerCut,
		Bounds: "one chain of causes; its root names where it continues",
	}
	LimitWhyEvents = Limit{
		Name:   "why-events",
		Value:  2000,
		Unit:   "events",
		Answer: answerCut,
		Bounds: "all chains of causes of one answer together; a root names where its chain continues",
	}
	LimitWhyQueues = Limit{
		Name:   "why-queues",
		Value:  20,
		Unit:   "queues",
		Answer: answerCut,
		Bounds: "queues of a task that `why` shows, first those where it is started, quarantined or queued; it " +
			"counts the others (`chainsMore`)",
	}
	LimitEventSlices = Limit{
		Name:   "event-slices",
		Value:  1000,
		Unit:   "slices",
		Code:   CodeInvalid,
		Bounds: "one histogram of events",
	}
	LimitStatusListed = Limit{
		Name:   "status-listed",
		Value:  projections.StatusListed,
		Unit:   "entries",
		Answer: answerCut,
		Bounds: "each list of a project's status: reports on tasks, lost sessions, queues; a number beside it " +
			"counts the others",
	}
)
