package oracle

import (
	"slices"
	"strings"
)

// row is one command: an id, who may use it, and the event that it becomes, "" for a read. The letters are those of
// docs/contract.md, "Permissions": W worker, Q worker with the queue strategy, T with the tree strategy, O
// orchestrator, U user, R runner, S system.
type row struct {
	id    string
	who   string
	event string
}

// table is that of docs/contract.md, "Permissions", transcribed by hand and in its order. A row of several ids appears
// here once for each.
var table = []row{
	{"whoami", "WQTOURS", ""},
	{"status", "WQTOURS", ""},
	{"commands", "WQTOURS", ""},
	{"session:register", "WQTOU", "session.registered"},
	{"session:complete", "WQTOU", "session.completed"},
	{"track-file", "WQTOU", "session.file_tracked"},
	{"worker:init", "WQT", "session.registered"},
	{"orchestrator:init", "O", "session.registered"},
	{"report:progress", "WQTO", "session.reported"},
	{"report:blocked", "WQTO", "session.reported"},
	{"report:error", "WQTO", "session.reported"},
	{"report:needs-input", "WQTO", "session.reported"},
	{"report:complete", "WQTO", "session.reported"},
	{"task:report:progress", "WQTO", "session.reported"},
	{"task:report:blocked", "WQTO", "session.reported"},
	{"task:report:error", "WQTO", "session.reported"},
	{"task:report:needs-input", "WQTO", "session.reported"},
	{"task:report:complete", "WQTO", "session.reported"},
	{"task:list", "WQTOU", ""},
	{"task:get", "WQTOU", ""},
	{"task:children", "WQTOU", ""},
	{"task:tree", "TOU", ""},
	{"task:create", "WQTOU", "task.created"},
	{"task:update", "OU", "task.updated"},
	{"task:complete", "OU", "task.status_changed"},
	{"task:block", "OU", "task.status_changed"},
	{"task:reopen", "OU", "task.status_changed"},
	{"task:delete", "U", "task.deleted"},
	{"session:list", "OU", ""},
	{"session:info", "WQTOU", ""},
	{"session:spawn", "OU", "session.spawned"},
	{"session:kill", "OU", "session.killed"},
	{"session:message", "WQTOU", "session.messaged"},
	{"session:update", "OU", "session.updated"},
	{"session:resume", "OU", "session.resumed"},
	{"queue:top", "QU", ""},
	{"queue:list", "QU", ""},
	{"queue:status", "QU", ""},
	{"queue:start", "QU", "queue.item_started"},
	{"queue:complete", "QU", "queue.item_completed"},
	{"queue:fail", "QU", "queue.item_failed"},
	{"queue:skip", "QU", "queue.item_skipped"},
	{"queue:push", "QU", "queue.item_pushed"},
	{"project:list", "OU", ""},
	{"project:get", "OU", ""},
	{"project:create", "OU", "project.created"},
	{"project:delete", "OU", "project.deleted"},
	{"inbox", "OU", ""},
	{"input:list", "OU", ""},
	{"input:answer", "OU", "input.answered"},
	{"manifest:generate", "OU", ""},
	{"manifest:show", "OU", ""},
	{"manifest:schema", "OU", ""},
	{"session:note", "WQTOU", "session.noted"},
	{"input:received", "WQTO", "input.delivered"},
	{"input:wait", "WQTO", ""},
	{"queue:create", "U", "queue.created"},
	{"queue:requeue", "U", "queue.item_requeued"},
	{"queue:move", "U", "queue.item_moved"},
	{"queue:remove", "U", "queue.item_removed"},
	{"queue:delete", "U", "queue.deleted"},
	{"project:update", "U", "project.updated"},
	{"session:delete", "U", "session.deleted"},
	{"session:link", "U", "session.task_linked"},
	{"session:unlink", "U", "session.task_unlinked"},
	{"template:list", "OU", ""},
	{"template:get", "OU", ""},
	{"template:create", "U", "template.created"},
	{"template:update", "U", "template.updated"},
	{"template:reset", "U", "template.reset"},
	{"template:delete", "U", "template.deleted"},
	{"watch", "OU", ""},
	{"since", "OU", ""},
	{"why", "OU", ""},
	{"events", "OU", ""},
	{"audit:export", "U", ""},
	{"audit:verify", "U", ""},
	{"audit:replay", "U", ""},
	{"audit:head", "U", ""},
	{"audit:denials", "U", ""},
	{"audit:can", "U", ""},
	{"audit:redact", "U", "text.redacted"},
	{"token:create", "U", "token.created"},
	{"token:list", "U", ""},
	{"token:revoke", "U", "token.revoked"},
	{"webhook:create", "U", "webhook.created"},
	{"webhook:update", "U", "webhook.updated"},
	{"webhook:delete", "U", "webhook.deleted"},
	{"webhook:resume", "U", "webhook.resumed"},
	{"webhook:list", "U", ""},
	{"webhook:get", "U", ""},
	{"runner:enroll", "U", "runner.enrolled"},
	{"runner:list", "U", ""},
	{"runner:revoke", "U", "runner.revoked"},
	{"session:claim", "R", "session.claimed"},
	{"session:exited", "R", "session.exited"},
	{"session:usage", "R", "session.used"},
	{"sandbox:blocked", "R", "sandbox.blocked"},
	{"preflight:failed", "R", "preflight.failed"},
	{"session:stuck", "R", "session.stuck"},
	{"token:used", "S", "token.used"},
	{"session:lost", "S", "session.lost"},
	{"session:recovered", "S", "session.recovered"},
	{"session:timed-out", "S", "session.timed_out"},
	{"queue:return", "S", "queue.item_returned"},
	{"queue:quarantine", "S", "queue.item_quarantined"},
	{"webhook:park", "S", "webhook.parked"},
	{"limit:reached", "S", "limit.reached"},
}

var rowOf = func() map[string]row {
	m := make(map[string]row, len(table))
	for _, r := range table {
		m[r.id] = r
	}
	return m
}()

// asks are the commands that may become an event, each with the function for that event; it returns nil if the command
// is refused or changes nothing.
var asks = map[string]func(*asked) fact{
	"project:create":     (*asked).createProject,
	"project:update":     (*asked).updateProject,
	"project:delete":     (*asked).deleteProject,
	"task:create":        (*asked).createTask,
	"task:update":        (*asked).updateTask,
	"task:complete":      (*asked).moveTask,
	"task:block":         (*asked).moveTask,
	"task:reopen":        (*asked).moveTask,
	"task:delete":        (*asked).deleteTask,
	"session:spawn":      (*asked).spawn,
	"session:register":   (*asked).register,
	"worker:init":        (*asked).begin,
	"orchestrator:init":  (*asked).begin,
	"session:complete":   (*asked).completeSession,
	"session:kill":       (*asked).killSession,
	"session:message":    (*asked).messageSession,
	"session:update":     (*asked).updateSession,
	"session:delete":     (*asked).deleteSession,
	"session:note":       (*asked).noteSession,
	"session:link":       (*asked).linkTask,
	"session:unlink":     (*asked).unlinkTask,
	"track-file":         (*asked).trackFile,
	"report:progress":    (*asked).report,
	"report:complete":    (*asked).report,
	"report:blocked":     (*asked).report,
	"report:error":       (*asked).report,
	"report:needs-input": (*asked).report,
	"queue:create":       (*asked).createQueue,
	"queue:push":         (*asked).pushItem,
	"queue:start":        (*asked).startItem,
	"queue:complete":     (*asked).endItem,
	"queue:fail":         (*asked).endItem,
	"queue:skip":         (*asked).skipItem,
	"queue:requeue":      (*asked).requeueItem,
	"queue:move":         (*asked).moveItem,
	"queue:remove":       (*asked).removeItem,
	"queue:delete":       (*asked).deleteQueue,
	"queue:return":       (*asked).takeBack,
	"queue:quarantine":   (*asked).takeBack,
	"input:answer":       (*asked).answerInput,
	"input:received":     (*asked).receiveInput,
	"token:create":       (*asked).createToken,
	"token:revoke":       (*asked).revokeToken,
	"token:used":         (*asked).useToken,
	"audit:redact":       (*asked).redactText,
	"template:create":    (*asked).createTemplate,
	"template:update":    (*asked).updateTemplate,
	"template:reset":     (*asked).resetTemplate,
	"template:delete":    (*asked).deleteTemplate,
	"webhook:create":     (*asked).createWebhook,
	"webhook:update":     (*asked).updateWebhook,
	"webhook:delete":     (*asked).deleteWebhook,
	"webhook:resume":     (*asked).resumeWebhook,
	"webhook:park":       (*asked).parkWebhook,
	"session:resume":     (*asked).resumeSession,
	"session:claim":      (*asked).claimSession,
	"session:exited":     (*asked).exitSession,
	"session:usage":      (*asked).useSession,
	"sandbox:blocked":    (*asked).blockCommand,
	"preflight:failed":   (*asked).failPreflight,
	"session:stuck":      (*asked).markStuck,
	"session:lost":       (*asked).loseSession,
	"session:recovered":  (*asked).recoverSession,
	"session:timed-out":  (*asked).timeOutSession,
}

// mayUse reports whether the command's row names this letter.
func mayUse(command, letter string) bool {
	return letter != "" && strings.Contains(rowOf[command].who, letter)
}

// The lists of docs/spec/000-command-permissions.md, "Default Command Sets".
var (
	worker000 = []string{
		"whoami",
		"status",
		"commands",
		"report:progress",
		"report:complete",
		"report:blocked",
		"report:error",
		"report:needs-input",
		"task:list",
		"task:get",
		"task:create",
		"task:children",
		"session:info",
		"session:register",
		"session:complete",
		"track-file",
		"worker:init",
	}
	queue000 = []string{
		"queue:top",
		"queue:start",
		"queue:complete",
		"queue:fail",
		"queue:skip",
		"queue:list",
		"queue:status",
		"queue:push",
	}
	orchestrator000 = []string{
		"whoami",
		"status",
		"commands",
		"report:progress",
		"report:complete",
		"report:blocked",
		"report:error",
		"report:needs-input",
		"task:list",
		"task:get",
		"task:create",
		"task:update",
		"task:complete",
		"task:block",
		"task:children",
		"task:tree",
		"session:list",
		"session:info",
		"session:spawn",
		"session:register",
		"session:complete",
		"project:list",
		"project:get",
		"project:create",
		"project:delete",
		"track-file",
		"orchestrator:init",
	}
	core000 = []string{"whoami", "status", "commands", "session:register", "session:complete", "track-file"}
)

// The additions of docs/contract.md, "Permissions", to those lists.
var (
	sessionRows      = []string{"session:message", "session:note", "input:received", "input:wait"}
	treeRows         = []string{"task:tree"}
	orchestratorRows = []string{
		"task:reopen", "session:kill", "session:update", "inbox", "input:list", "input:answer", "manifest:generate",
		"manifest:show", "manifest:schema", "template:list", "template:get", "watch", "since", "why",
		"events", "session:resume",
	}
)

// planned are the rows without a command yet, as docs/contract.md, "Permissions", lists them. Since version 3 of the
// rules they are in no list; earlier versions gave them to orchestrators.
var planned = []string{
	"runner:enroll", "runner:revoke", "limit:reached",
}

// defaultList returns the commands of a session without an explicit list.
func defaultList(letter string) []string {
	switch letter {
	case "W":
		return slices.Concat(worker000, sessionRows)
	case "Q":
		return slices.Concat(worker000, queue000, sessionRows)
	case "T":
		return slices.Concat(worker000, treeRows, sessionRows)
	case "O":
		return slices.Concat(orchestrator000, orchestratorRows, sessionRows)
	}
	return nil
}

// defaultList is the same for the version of the rules that decided the event: before version 3, only an orchestrator
// sent messages, nobody waited for mail, no row was about reading templates or manifests, and an orchestrator got the
// planned commands.
func (c *trial) defaultList(letter string) []string {
	list := defaultList(letter)
	if c.thirdOn() {
		return slices.DeleteFunc(list, c.isPlanned)
	}
	list = slices.DeleteFunc(list, func(id string) bool {
		return slices.Contains(slices.Concat(sinceThird, sinceFourth, sinceFifth, sinceSixth), id) ||
			id == "session:message" && letter != "O"
	})
	if letter == "O" {
		list = append(list, "session:resume", "watch", "events")
	}
	return list
}

// sinceThird are the rows for sessions that version 3 of the rules added.
var sinceThird = []string{"input:wait", "manifest:show", "manifest:schema", "template:list", "template:get"}

// sinceFourth are the commands that version 4 of the rules has, and earlier ones planned.
var sinceFourth = []string{"watch"}

// sinceFifth are the commands that version 5 of the rules has, and earlier ones planned.
var sinceFifth = []string{"events"}

// sinceSixth are the commands that version 6 of the rules has, and earlier ones planned or did not have.
var sinceSixth = []string{
	"session:resume", "session:claim", "session:exited", "session:usage", "sandbox:blocked", "preflight:failed",
	"session:stuck",
}

// isPlanned reports whether a command did not exist yet in the version of the rules that decided the event.
func (c *trial) isPlanned(id string) bool {
	return slices.Contains(planned, id) || c.event.Rules == "3" && slices.Contains(sinceFourth, id) ||
		!c.fifthOn() && slices.Contains(sinceFifth, id) || !c.sixthOn() && slices.Contains(sinceSixth, id)
}

// coreList returns the commands of every session, whatever its list.
func coreList(letter string) []string {
	if letter == "O" {
		return slices.Concat(core000, []string{"orchestrator:init"})
	}
	return slices.Concat(core000, []string{"worker:init"})
}

// mayList reports whether an explicit list may hold the command: a write only if its row names the role; a read also
// otherwise, except that project commands are for orchestrators, queue commands need the queue strategy, and the audit
// is for the user.
func mayList(command, letter string) bool {
	r, known := rowOf[command]
	if !known {
		return false
	}
	owned := strings.HasPrefix(command, "project:") || strings.HasPrefix(command, "queue:") ||
		strings.HasPrefix(command, "audit:")
	return mayUse(command, letter) || r.event == "" && !owned
}

// letterOf returns the letter of a role and strategy; "" if they do not go together (docs/spec/002-prompt-contract.md,
// "Workflow Matrix"). An orchestrator's simple means default.
func letterOf(role, strategy string) string {
	switch role + " " + strategy {
	case "worker simple":
		return "W"
	case "worker queue":
		return "Q"
	case "worker tree":
		return "T"
	case "orchestrator default", "orchestrator simple", "orchestrator intelligent-batching", "orchestrator dag":
		return "O"
	}
	return ""
}
