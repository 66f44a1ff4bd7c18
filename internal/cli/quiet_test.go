package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
)

// Every list has -q with one meaning, and prints the first cells of its rows.
func TestEveryListIsQuiet(t *testing.T) {
	root := (&Run{}).Root()
	lists := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
		if cmd.Name() != "list" && cmd.CommandPath() != "maestro task children" {
			return
		}
		lists++
		flag := cmd.Flags().ShorthandLookup("q")
		if flag == nil || flag.Name != "quiet" || flag.Usage != "print the ids only" {
			t.Errorf("`%s` has no -q that prints the ids: %+v", cmd.CommandPath(), flag)
		}
	}
	visit(root)
	if lists < 7 {
		t.Errorf("there are only %d lists", lists)
	}
	for _, quiet := range []bool{true, false} {
		out := &bytes.Buffer{}
		a := &Run{Printer: Printer{Stdout: out, Stderr: out, quiet: quiet}}
		row := func(id string) []string { return []string{id, "other"} }
		List(a, []string{"one", "two"}, "none", []string{"ID", "REST"}, row)
		if want := map[bool]string{true: "one\ntwo\n", false: "one  other\ntwo  other\n"}[quiet]; out.String() != want {
			t.Errorf("quiet %t prints %q", quiet, out.String())
		}
	}
}
