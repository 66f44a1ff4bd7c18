package oracle

import (
	"slices"
	"strings"
)

// row is one command: an id, who may use it, and whether it writes. The letters are the contract's: W worker, Q worker
// with the queue strategy, T with the tree strategy, O orchestrator, U user, R runner, S system.
type row struct {
	id    string
	who   string
	write bool
}

// table is the contract's, transcribed by hand and in its order. A row of several ids stands here once for each.
var table = []row{
	{"whoami", "WQTOURS", false},
	{"status", "WQTOURS", false},
	{"commands", "WQTOURS", false},
	{"session:register", "WQTOU", true},
	{"session:complete", "WQTOU", true},
	{"track-file", "WQTOU", true},
	{"worker:init", "WQT", true},
	{"orchestrator:init", "O", true},
	{"report:progress", "WQTO", true},
	{"report:blocked", "WQTO", true},
	{"report:error", "WQTO", true},
	{"report:needs-input", "WQTO", true},
	{"report:complete", "WQTO", true},
	{"task:report:progress", "WQTO", true},
	{"task:report:blocked", "WQTO", true},
	{"task:report:error", "WQTO", true},
	{"task:report:needs-input", "WQTO", true},
	{"task:report:complete", "WQTO", true},
	{"task:list", "WQTOU", false},
	{"task:get", "WQTOU", false},
	{"task:children", "WQTOU", false},
	{"task:tree", "TOU", false},
	{"task:create", "WQTOU", true},
	{"task:update", "OU", true},
	{"task:complete", "OU", true},
	{"task:block", "OU", true},
	{"task:reopen", "OU", true},
	{"task:delete", "U", true},
	{"session:list", "OU", false},
	{"session:info", "WQTOU", false},
	{"session:spawn", "OU", true},
	{"session:kill", "OU", true},
	{"session:message", "OU", true},
	{"session:update", "OU", true},
	{"session:resume", "OU", true},
	{"queue:top", "QU", false},
	{"queue:list", "QU", false},
	{"queue:status", "QU", false},
	{"queue:start", "QU", true},
	{"queue:complete", "QU", true},
	{"queue:fail", "QU", true},
	{"queue:skip", "QU", true},
	{"queue:push", "QU", true},
	{"project:list", "OU", false},
	{"project:get", "OU", false},
	{"project:create", "OU", true},
	{"project:delete", "OU", true},
	{"inbox", "OU", false},
	{"input:list", "OU", false},
	{"input:answer", "OU", true},
	{"manifest:generate", "OU", false},
	{"session:note", "WQTOU", true},
	{"input:received", "WQTO", true},
	{"queue:create", "U", true},
	{"queue:requeue", "U", true},
	{"project:update", "U", true},
	{"session:delete", "U", true},
	{"session:link", "U", true},
	{"session:unlink", "U", true},
	{"template:create", "U", true},
	{"template:update", "U", true},
	{"template:reset", "U", true},
	{"template:delete", "U", true},
	{"watch", "OU", false},
	{"since", "OU", false},
	{"why", "OU", false},
	{"events", "OU", false},
	{"audit:export", "U", false},
	{"audit:verify", "U", false},
	{"audit:replay", "U", false},
	{"audit:head", "U", false},
	{"audit:denials", "U", false},
	{"audit:can", "U", false},
	{"token:create", "U", true},
	{"token:list", "U", false},
	{"token:revoke", "U", true},
	{"runner:enroll", "U", true},
	{"runner:list", "U", false},
	{"runner:revoke", "U", true},
	{"session:claim", "R", true},
	{"session:exited", "R", true},
	{"session:usage", "R", true},
	{"sandbox:blocked", "R", true},
	{"preflight:failed", "R", true},
	{"session:lost", "S", true},
	{"session:recovered", "S", true},
	{"session:timed-out", "S", true},
	{"queue:return", "S", true},
	{"queue:quarantine", "S", true},
	{"limit:reached", "S", true},
}

var rowOf = func() map[string]row {
	m := make(map[string]row, len(table))
	for _, r := range table {
		m[r.id] = r
	}
	return m
}()

// asks are the commands that may become an event, each with the event that it would be; nil if there is none, because
// the command is refused or changes nothing.
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
	"queue:return":       (*asked).takeBack,
	"queue:quarantine":   (*asked).takeBack,
	"input:answer":       (*asked).answerInput,
	"input:received":     (*asked).receiveInput,
	"token:create":       (*asked).createToken,
	"token:revoke":       (*asked).revokeToken,
	"template:create":    (*asked).createTemplate,
	"template:update":    (*asked).updateTemplate,
	"template:reset":     (*asked).resetTemplate,
	"template:delete":    (*asked).deleteTemplate,
	"session:lost":       (*asked).loseSession,
	"session:recovered":  (*asked).recoverSession,
	"session:timed-out":  (*asked).timeOutSession,
}

// mayUse reports whether the command's row names this letter.
func mayUse(command, letter string) bool {
	return letter != "" && strings.Contains(rowOf[command].who, letter)
}

// The lists of document 000.
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

// What the contract's table adds to document 000's lists.
var (
	sessionRows      = []string{"session:note", "input:received"}
	treeRows         = []string{"task:tree"}
	orchestratorRows = []string{
		"task:reopen", "session:kill", "session:message", "session:update", "session:resume", "inbox", "input:list",
		"input:answer", "manifest:generate", "watch", "since", "why", "events",
	}
)

// defaultList is what a session may do that was given no list.
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

// coreList is what every session may do, whatever its list says.
func coreList(letter string) []string {
	if letter == "O" {
		return slices.Concat(core000, []string{"orchestrator:init"})
	}
	return slices.Concat(core000, []string{"worker:init"})
}

// mayList reports whether an explicit list may hold the command: a write only if its row names the role; a read also
// otherwise, but project commands are an orchestrator's, queue commands need the queue strategy, the audit is the
// user's.
func mayList(command, letter string) bool {
	r, known := rowOf[command]
	if !known {
		return false
	}
	owned := strings.HasPrefix(command, "project:") || strings.HasPrefix(command, "queue:") ||
		strings.HasPrefix(command, "audit:")
	return mayUse(command, letter) || !r.write && !owned
}

// letterOf gives the letter of a role and strategy; "" if they do not go together (documents 002 and 003). An
// orchestrator's simple means default.
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
