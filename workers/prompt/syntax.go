package prompt

import (
	"strings"

	"maestro/commands"
)

// usage is how a command is called, and what it is good for.
type usage struct{ syntax, description string }

// Syntax gives the executable form of a command id and what it does, for every id of the permission table that this binary
// has; false for any other. What stands in angle brackets is to be replaced, what stands in square brackets may be left out,
// a bar separates words to choose from, and an ellipsis says that what is before it may be repeated.
func Syntax(id string) (syntax, description string, ok bool) {
	u, ok := syntaxes[id]
	if !ok {
		return "", "", false
	}
	return "maestro " + u.syntax, u.description, true
}

var syntaxes = map[string]usage{
	"whoami": {`whoami`, "Show who you are to the server"},
	"status": {
		`status`,
		"Show the project's status: what is decided, what sessions report, and what nobody has confirmed",
	},
	"commands": {`commands [--check <commandId>]`, "List the commands that you may use, or check one"},

	"session:register":  {`session register`, "Report for work; done already when you were started"},
	"worker:init":       {`worker init`, "Print your prompts again; done already when you were started"},
	"orchestrator:init": {`orchestrator init`, "Print your prompts again; done already when you were started"},
	"manifest:generate": {`manifest generate --task-ids <taskIds> [--role worker|orchestrator] [--strategy <strategy>] [--output <file>]`, "Make a manifest, to be changed and given to session spawn --manifest"},

	"template:create": {`template create "<name>" <file> [--role worker|orchestrator]`, "Make a template of prompts"},
	"template:update": {`template update <templateId> [--name "<name>"] [--file <file>]`, "Give a template another name or workflow"},
	"template:reset":  {`template reset <templateId>`, "Give a template the workflow that Maestro comes with"},
	"template:delete": {`template delete <templateId>`, "Delete a template"},

	"session:complete": {`session complete`, "Say that your session is done: the last thing that you do"},
	"track-file":       {`track-file <path> [--task <taskId>]`, "Record that you changed a file"},

	"report:progress": {
		`report progress "<message>" [--task <taskIds>]`,
		"Say how the work goes; with --task the tasks say working",
	},
	"report:blocked": {
		`report blocked "<reason>" [--task <taskIds>]`,
		"Say what blocks you; with --task the tasks say blocked",
	},
	"report:error": {
		`report error "<description>" [--task <taskIds>]`,
		"Say what failed; with --task the tasks say failed",
	},
	"report:needs-input": {
		`report needs-input "<question>" [--option "<answer>"]… [--wait --timeout <duration>] [--task <taskIds>]`,
		"Ask a question; --wait waits for the answer and prints it",
	},
	"report:complete": {
		`report complete "<summary>" [--task <taskIds>]`,
		"Say that the tasks are done; without --task your session is done too",
	},

	"task:report:progress":    {`task report progress <taskId> "<message>"`, "Report task progress"},
	"task:report:blocked":     {`task report blocked <taskId> "<reason>"`, "Report what blocks a task"},
	"task:report:error":       {`task report error <taskId> "<description>"`, "Report that a task failed"},
	"task:report:needs-input": {`task report needs-input <taskId> "<question>" [--option "<answer>"]… [--wait --timeout <duration>]`, "Ask a question about a task"},
	"task:report:complete":    {`task report complete <taskId> "<summary>"`, "Report that a task is done"},

	"task:list": {
		`task list [--status todo|in_progress|completed|blocked|cancelled] [--parent <taskId>]`,
		"List tasks with their status and what sessions report of them",
	},
	"task:get":      {`task get <taskId> [--timeline]`, "Show a task; with --timeline what happened to it"},
	"task:children": {`task children <taskId>`, "List the tasks directly below a task"},
	"task:tree":     {`task tree [<taskId>]`, "Draw the tasks below a task, or all of the project"},
	"task:create":   {`task create "<title>" [--parent <taskId>] [--description "<text>"] [--criteria "<text>"]… [--depends-on <taskIds>] [--priority low|medium|high|critical]`, "Make a task"},
	"task:update":   {`task update <taskId> [--title "<text>"] [--description "<text>"] [--criteria "<text>"]… [--depends-on <taskIds>] [--priority low|medium|high|critical] [--status todo|in_progress|completed|blocked]`, "Give fields of a task, or its status, new values"},
	"task:complete": {`task complete <taskId>`, "Confirm that a task is done"},
	"task:block":    {`task block <taskId> ["<reason>"]`, "Mark a task as blocked"},
	"task:reopen":   {`task reopen <taskId> ["<reason>"]`, "Send a task back to in_progress; its session is told the reason"},
	"task:delete":   {`task delete <taskId> [--recursive]`, "Delete a task"},

	"session:list":   {`session list [--active] [--status spawning|idle|running|working|completed|stopped|failed] [--task <taskId>]`, "List sessions"},
	"session:info":   {`session info [<sessionId>] [--timeline]`, "Show a session, your own if none is named"},
	"session:spawn":  {`session spawn --task-ids <taskIds> [--role worker|orchestrator] [--strategy <strategy>] [--name "<name>"] [--agent <agent>] [--model <model>] [--skills <skills>] [--allowed-commands <commandIds>] [--queue <queue>] [--timeout <duration>] [--strict] [--quiet]`, "Order a session for tasks; --strict refuses while their dependencies are not completed"},
	"session:kill":   {`session kill <sessionId> [--reason "<reason>"] [--failed]`, "End a session"},
	"session:update": {`session update <sessionId> [--name "<name>"] [--task-ids <taskIds>] [--manifest <file>]`, "Give fields of a session new values"},

	"queue:top": {`queue top`, "Show the next item and the one you hold"},
	"queue:list": {
		`queue list [--status queued|processing|completed|failed|skipped|quarantined]`,
		"List the items of your queue, in order, and what they wait for",
	},
	"queue:status": {`queue status`, "Count the items of each queue by status"},
	"queue:start": {
		`queue start [--wait --timeout <duration>]`,
		"Claim the next item, or show the one you hold; --wait waits until there is one",
	},
	"queue:complete": {`queue complete [--task <taskId>]`, "Complete the item you hold"},
	"queue:fail":     {`queue fail ["<reason>"] [--task <taskId>]`, "Fail the item you hold"},
	"queue:skip":     {`queue skip [--task <taskId>]`, "Skip the item you hold, or the next one if you hold none"},
	"queue:push":     {`queue push <taskId>`, "Put a task at the end of your queue"},

	"project:list":   {`project list`, "List the projects that you may see"},
	"project:get":    {`project get [<projectId>]`, "Show a project, your own if none is named"},
	"project:create": {`project create "<name>" [--description "<text>"] [--working-dir <path>]`, "Make a project"},
	"project:delete": {`project delete <projectId>`, "Delete a project that holds nothing"},

	"inbox":         {`inbox`, "Show all that needs you, longest wait first"},
	"input:list":    {`input list [--status open|answered|delivered|void] [--session <sessionId>]`, "List questions of sessions"},
	"input:answer":  {`input answer <questionId> "<answer>" [--other]`, "Answer a question; --other if the answer is none of its options"},
	"session:note":  {`session note "<message>" [--type <type>] [--task <taskId>]`, "Put an entry on your session's timeline that moves no status"},
	"queue:create":  {`queue create <name> [--trust-reports] [--max-attempts <number>]`, "Make a queue that sessions pull from"},
	"queue:requeue": {`queue requeue <taskId> [--queue <queue>]`, "Put a quarantined, failed or skipped item at the end again"},

	"project:update": {`project update <projectId> [--name "<name>"] [--description "<text>"] [--working-dir <path>]`, "Give fields of a project new values"},
	"session:delete": {`session delete <sessionId>`, "Take a session out of the views; its history stays"},
	"session:link":   {`session link <sessionId> <taskId>`, "Make a task one of a session's"},
	"session:unlink": {`session unlink <sessionId> <taskId>`, "Take a task from a session"},

	"since": {`since [<sequence|time>]`, "Show what changed since then, what needs you first; a time may be a while ago, such as 10m"},
	"why":   {`why <id>`, "Say why something is as it is: the chain of causes back to a person or a deadline"},

	"audit:export":  {`audit export [<file>] [--project <projectId>]`, "Write the log to a file"},
	"audit:verify":  {`audit verify [<file>] [--from-head <sequence:hash>] [--oracle]`, "Judge every event of the log again"},
	"audit:replay":  {`audit replay [<file>] [--at <sequence|time>] [--task <taskId>]`, "Show the state at a moment, or a story"},
	"audit:head":    {`audit head`, "Show the log's head"},
	"audit:denials": {`audit denials [--actor <actor>] [--command <commandId>] [--limit <number>]`, "List the refusals"},
	"audit:can":     {`audit can <actor> <commandId> [<target>]`, "Say whether somebody may do something, and by which row"},

	"token:create": {`token create --name <name> --kind admin|auditor|read-only [--project <projectIds>]`, "Make a token"},
	"token:list":   {`token list`, "List the tokens"},
	"token:revoke": {`token revoke <name>`, "Revoke a token"},
}

// groupOf gives the group in which a command id is shown.
func groupOf(id string) string {
	if parent, _, ok := strings.Cut(id, ":"); ok {
		return parent
	}
	if row, ok := commands.CurrentRules().Row(id); ok && row.Core {
		return "core"
	}
	return "overview"
}

// group is commands that are shown together.
type group struct {
	name string
	ids  []string
}

// grouped puts command ids under their groups, both in the order in which they come.
func grouped(ids []string) []group {
	var groups []group
	at := map[string]int{}
	for _, id := range ids {
		name := groupOf(id)
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, group{name: name})
		}
		groups[i].ids = append(groups[i].ids, id)
	}
	return groups
}
