package commands

import (
	"slices"
	"strings"
)

// The commands that a session may use in place of one that it may not, the best first. What is not here is asked for:
// see asks.
var alternatives = map[string][]string{
	"task:complete":     {"report:complete"},
	"task:block":        {"report:blocked"},
	"task:update":       {"report:progress"},
	"task:tree":         {"task:children", "task:list"},
	"session:spawn":     {"task:create"},
	"session:list":      {"session:info"},
	"session:kill":      {"session:message"},
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
	"input:answer":      {"session:message"},
	"since":             {"task:get", "status"},
	"why":               {"task:get", "status"},
	"events":            {"task:get", "status"},
	"watch":             {"since", "input:wait"},
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

// asks are what a session may do about everything else: it tells who may.
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

// Alternative gives the command that a session with these permissions may use in place of one that it may not, and its
// command line.
func (t *Table) Alternative(who Letters, allowed []string, id string) (alternative, line string) {
	for _, other := range slices.Concat(alternatives[t.canonical(id)], asks) {
		if other != id && slices.Contains(allowed, other) && t.MayList(who, other) == "" {
			return other, spelled[other]
		}
	}
	return "commands", spelled["commands"]
}

// asSession gives the command line by which a user runs a session's command.
func asSession(id string) string {
	return "maestro session exec <sessionId> -- maestro " + strings.ReplaceAll(id, ":", " ") + " …"
}
