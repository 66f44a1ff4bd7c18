package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamples: every page of the help has an example, and this binary accepts it.
func TestExamples(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if name := cmd.Name(); name == "help" || name == "completion" || cmd.Hidden {
			return
		}
		if cmd.HasParent() && strings.TrimSpace(cmd.Example) == "" {
			t.Errorf("`%s --help` has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			if err := accepts(line); line != "" && err != nil {
				t.Errorf("`%s --help` shows %s: %v", cmd.CommandPath(), line, err)
			}
			if !strings.HasPrefix(line, cmd.CommandPath()) {
				t.Errorf("`%s --help` shows another command: %s", cmd.CommandPath(), line)
			}
		}
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
	}
	visit(root())
}

// TestHelpGroups: the help of maestro sorts every command into a group.
func TestHelpGroups(t *testing.T) {
	for _, cmd := range root().Commands() {
		if cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("`%s` is in no group", cmd.CommandPath())
		}
	}
}
