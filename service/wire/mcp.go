package wire

import (
	"strings"

	"maestro/commands"
)

// MCPPath is the route of the Model Context Protocol.
const MCPPath = "/mcp"

// MCPInstructions tell a model what the tools of the Model Context Protocol are for.
const MCPInstructions = "Maestro coordinates AI coding agents. The tools are the commands that you may use. Call " +
	"whoami first: it says who you are and which tasks are yours. Report what you do with the report_ tools. If you " +
	"need an answer, ask with report_needs_input and wait for it with input_wait. A refused call says why, and what " +
	"to do instead."

// MCPKey is the member of a call's _meta with the idempotency key that its client made for it.
const MCPKey = "maestro/key"

// The arguments of tools that are no fields of their command: its options, and its key.
const (
	ArgKey        = "idempotencyKey"
	ArgDryRun     = "dryRun"
	ArgWait       = "wait"
	ArgTree       = "tree"
	ArgAll        = "all"
	ArgIfFinished = "ifFinished"
	ArgIfNew      = "ifNew"
)

// ToolOf returns the name of a command's tool.
func ToolOf(id string) string { return strings.NewReplacer(":", "_", "-", "_").Replace(id) }

// CommandOf returns the command of a tool; "" if there is none.
func CommandOf(tool string) string { return rowOf(tool).ID }

// KeptCommandOf is CommandOf for a command whose answer nobody waits for: a session that does not reach the server
// keeps it. For any other it returns "".
func KeptCommandOf(tool string) string {
	if row := rowOf(tool); row.Waits {
		return row.ID
	}
	return ""
}

func rowOf(tool string) commands.Row {
	for _, row := range commands.CurrentRules().Rows() {
		if row.Alias == "" && ToolOf(row.ID) == tool {
			return row
		}
	}
	return commands.Row{}
}
