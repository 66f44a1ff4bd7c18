package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// For a command line that begins with a noun, the tree has only that noun, with the same content as in the whole tree.
func TestCommandTreeHasOnlyItsNoun(t *testing.T) {
	whole := map[string]string{}
	var tell func(cmd *cobra.Command, into map[string]string)
	tell = func(cmd *cobra.Command, into map[string]string) {
		into[cmd.CommandPath()] = cmd.Short + cmd.Long + cmd.Example + cmd.UsageString() + cmd.Annotations[neededIDs]
		for _, verb := range cmd.Commands() {
			tell(verb, into)
		}
	}
	for _, noun := range (&Run{}).Root().Commands() {
		tell(noun, whole)
	}
	seen := 0
	for _, noun := range nouns() {
		root := (&Run{}).rootFor([]string{noun.Name, "anything"})
		below := root.Commands()
		if len(below) != 1 || below[0].Name() != noun.Name {
			t.Errorf("the tree for a line with %q has %d commands", noun.Name, len(below))
			continue
		}
		alone := map[string]string{}
		tell(below[0], alone)
		for path, text := range alone {
			seen++
			if whole[path] != text {
				t.Errorf("`%s` differs from that in the whole tree:\n%s\n%s", path, text, whole[path])
			}
		}
	}
	if seen != len(whole) {
		t.Errorf("%d commands, expected %d", seen, len(whole))
	}
	for _, line := range [][]string{nil, {"--json", "task"}, {"help"}, {"nosuch"}, {"completion"}} {
		if n := len((&Run{}).rootFor(line).Commands()); n != len(nouns()) {
			t.Errorf("the tree for %q has %d commands", line, n)
		}
	}
}
