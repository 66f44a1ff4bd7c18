package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// needs are the ids of the permission table that a command line needs that stands for none of them, by its words. One
// without an id works on files of its caller, is the server, or asks one for what everybody may.
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

// need notes at each command that does something which ids of the permission table it needs.
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
