package commands

import (
	"slices"
	"strings"
)

// lines are, by its words with colons, the ids of the table that a command line needs if it has no row of its own. A
// command line without an id works on its caller's files, is the server, or asks a server what everybody may ask.
var lines = map[string][]string{
	"audit:diff":        {"audit:replay"},
	"audit:limits":      {"audit:denials"},
	"backup":            {"token:create", "audit:export"}, // it copies secrets too, so it is for admin tokens only
	"bench":             nil,
	"clock:confirm":     {"token:revoke"},
	"clock:show":        nil,
	"login:end":         {"token:revoke"},
	"login:list":        {"token:list"},
	"open":              {"project:list"},
	"demo":              nil,
	"mcp":               nil,
	"doctor":            nil,
	"import":            nil,
	"input:get":         {"input:list"},
	"man":               nil,
	"manifest:migrate":  nil,
	"manifest:validate": nil,
	"plan:apply":        {"task:list", "task:create", "task:update"}, // and project:create, to make a project too
	"plan:export":       {"project:get", "task:list"},
	"project:use":       {"project:get"},
	"restore":           nil,
	"salvage":           nil,
	"sandbox:check":     nil,
	"serve":             nil,
	"session:exec":      {"session:spawn"},
	"session:heartbeat": {"session:register"}, // which every session has until it ends
	"session:logs":      nil,
	"skill:add":         nil,
	"skill:list":        {"template:list"},
	"skill:remove":      nil,
	"task:edit":         {"task:update"},
	"task:import":       {"task:list", "task:create", "task:update"},
	"task:move":         {"task:update"},
	"text:get":          nil, // by what names it
	"version":           nil,
	"webhook:secret":    {"webhook:create"},
	"webhook:test":      {"webhook:update"},
}

// Needs returns the ids of the table that a command line without a row of its own needs; false if there is no such
// command line.
func Needs(line string) (ids []string, ok bool) {
	ids, ok = lines[line]
	return ids, ok
}

// IsLine reports whether there is a command line of these words that has no row of its own.
func IsLine(line string) bool {
	_, ok := Needs(line)
	return ok
}

// AliasOf returns the id for which another is only a second name, such as report:progress for task:report:progress; ""
// for none.
func AliasOf(id string) string {
	row, _ := current().Row(id)
	return row.Alias
}

// IsForOperators reports whether a command is for whoever runs the server, and for no session.
func IsForOperators(line string) bool {
	return slices.Contains([]string{"serve", "salvage", "restore", "import", "backup"}, line)
}

// whyNoRow says why an id has no row.
func whyNoRow(id string) string {
	switch needs, ok := Needs(id); {
	case !ok:
		return "there is no such command"
	case IsForOperators(id) && len(needs) == 0:
		return "only whoever runs the server may use it, and no session may"
	case len(needs) == 0:
		return "it has no permission of its own, and needs none"
	default:
		return "it has no permission of its own: it needs " + andOf(needs) + "; name " + these(len(needs))
	}
}

// andOf joins ids in a sentence.
func andOf(ids []string) string {
	last := len(ids) - 1
	if last == 0 {
		return ids[0]
	}
	return strings.Join(ids[:last], ", ") + " and " + ids[last]
}

func these(n int) string {
	if n == 1 {
		return "that"
	}
	return "these"
}
