package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// needs are, by its words, the permission table's ids that a command line needs if it stands for none of them. A
// command line without an id works on its caller's files, is the server, or asks a server what everybody may ask.
var needs = map[string][]string{
	"audit limits":      {"audit:denials"},
	"backup":            {"audit:export"},
	"bench":             nil,
	"clock confirm":     {"token:revoke"},
	"clock show":        nil,
	"demo":              nil,
	"manifest migrate":  nil,
	"manifest validate": nil,
	"plan apply":        {"task:list", "task:create", "task:update", "project:create"},
	"plan export":       {"project:get", "task:list"},
	"project use":       {"project:get"},
	"restore":           nil,
	"salvage":           nil,
	"serve":             nil,
	"session exec":      {"session:spawn"},
	"session heartbeat": {"whoami"},
	"task import":       {"task:list", "task:create", "task:update", "project:create"},
	"version":           nil,
	"man":               nil,
}

// need records at each command that does something the ids of the permission table that it needs.
func need(cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		need(verb)
	}
	ids, said := needs[strings.TrimPrefix(cmd.CommandPath(), "maestro ")]
	if id := cmd.Annotations[commandID]; id != "" {
		ids, said = []string{id}, true
	}
	if !said {
		return
	}
	annotated(cmd, neededIDs, strings.Join(ids, ","))
}
