package commands

import "fmt"

// Limit is one documented bound. docs/limits.md is generated from the rows below.
type Limit struct {
	// Name identifies the limit in errors and in docs/limits.md.
	Name string
	// Value is the maximum, in Unit.
	Value int64
	Unit  string
	// Bounds says what the number counts.
	Bounds string
	// Code is the code of the refusal that a caller above the limit receives; if there is none, Answer says in words
	// what the caller receives.
	Code   Code
	Answer string
}

// LimitGroup is a section of docs/limits.md.
type LimitGroup struct {
	Title string
	// Intro is a paragraph above the table; it may be empty.
	Intro  string
	Limits []Limit
}

// answerCut is the answer to a caller that asks for more than one answer holds.
const answerCut = "a truncated answer"

// Limits returns every limit that the server enforces, in the order of docs/limits.md.
func Limits() []LimitGroup {
	return []LimitGroup{
		{
			Title:  "Request bodies",
			Intro:  "The server checks these while it reads a JSON body, before it decides anything.",
			Limits: []Limit{LimitBody, LimitNames, LimitDepth, LimitNumber, LimitValues},
		},
		{
			Title:  "Calls",
			Intro:  "The server checks this before it does the first of the commands, and pays for all of them.",
			Limits: []Limit{LimitCallCommands},
		},
		{
			Title:  "Sessions",
			Limits: []Limit{LimitLateReports, LimitLateBytes, LimitMail, LimitMailFromOne, LimitMessage, LimitOutput},
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
				LimitID, LimitTitle, LimitName, LimitType, LimitPath, LimitURL, LimitText, LimitLongText, LimitEntries,
				LimitIDs,
				LimitDependencies, LimitAllowed,
				LimitOptions, LimitFree, LimitEnv, LimitEnvBytes,
			},
		},
		{
			Title: "Tasks, sessions and queues",
			Intro: "These bound what one command can cost the writer, which decides one command after another. " +
				"They apply to new events only: an older log keeps what it has.",
			Limits: []Limit{
				LimitTaskDepth,
				LimitOrderKey,
				LimitDependents,
				LimitGraph,
				LimitDeleted,
				LimitTaskSessions,
				LimitSessionTasks,
				LimitTaskQueues,
				LimitAwaited,
				LimitTrusted,
				LimitTokenAddresses,
				LimitDeletedItems,
				LimitMoved,
				LimitReportWords,
				LimitTreeDepth,
				LimitTreeTasks,
				LimitItemsListed,
				LimitStatusListed,
				LimitEventSlices,
				LimitWaitsNamed,
				LimitWaitsLooked,
				LimitWhySteps,
				LimitWhyEvents,
				LimitWhyQueues,
			},
		},
	}
}

// exceeded returns the refusal of a call that exceeds a limit. what names what is too large: "metadata".
func (l Limit) exceeded(pointer, what string, have int64) *Refusal {
	code, number := CodeLimit, fmt.Sprintf("has %d", have)
	if l.Code == CodeTooLarge {
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
