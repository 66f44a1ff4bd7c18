package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"maestro/service/wire"
)

// mcpToolsCmd expects the tools of the last output, which is that of `maestro mcp`, to be all commands that the current
// caller may use: as it is told itself, and as the user is told.
func mcpToolsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mcptools ACTOR")
	}
	var tools []string
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var message struct {
			Result struct {
				Tools []struct {
					Name string
				}
			}
		}
		ts.Check(json.Unmarshal([]byte(line), &message))
		for _, tool := range message.Result.Tools {
			tools = append(tools, tool.Name)
		}
	}
	asked := func(into any, args ...string) {
		ts.Check(ts.Exec("maestro", args...))
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), into))
	}
	var own wire.AllowedCommands
	asked(&own, "commands", "--json")
	var can struct {
		Data wire.Can
	}
	kept := map[string]string{}
	for _, name := range wire.SessionEnvironment() {
		kept[name] = ts.Getenv(name)
	}
	userCmd(ts, false, nil)
	asked(&can, "audit", "can", args[0], "--json")
	for name, value := range kept {
		ts.Setenv(name, value)
	}
	slices.Sort(tools)
	for who, ids := range map[string][]string{
		"maestro commands": own.AllowedCommands, "maestro audit can": can.Data.Commands,
	} {
		var want []string
		for _, id := range ids {
			want = append(want, wire.ToolOf(id))
		}
		if slices.Sort(want); len(want) == 0 || !slices.Equal(tools, want) {
			ts.Fatalf("%s has the tools\n%q, and by `%s` may use\n%q", args[0], tools, who, want)
		}
	}
}
