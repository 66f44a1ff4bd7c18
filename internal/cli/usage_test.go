package cli

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/pflag"
)

// The descriptions of flags are aligned, also next to a syntax with a multi-byte character.
func TestDescriptionsOfFlagsAreAligned(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("option", "", "`\"<text>\"…` an answer to choose from")
	flags.String("task", "", "`<taskId>` what it is about, in words enough to be continued on the line below this one")
	flags.Bool("wait", false, "an answer is waited for… or not")
	text := alignFlags(flags.FlagUsagesWrapped(80))
	columns := map[int]bool{}
	for _, word := range []string{"\"<text>\"… an answer", "<taskId> what", "an answer is"} {
		before, _, _ := strings.Cut(text, word)
		columns[displaywidth.String(before[strings.LastIndex(before, "\n")+1:])] = true
	}
	if len(columns) != 1 {
		t.Errorf("the descriptions begin in columns %v:\n%s", columns, text)
	}
}

// The help of each command that ends a session says when it is refused.
func TestHelpSaysWhatRefusesTheEnd(t *testing.T) {
	for _, line := range []string{"session complete", "report complete"} {
		cmd, _, err := (&Run{}).Root().Find(strings.Fields(line))
		if err != nil || !strings.Contains(cmd.Long, "holds an item of a queue") ||
			!strings.Contains(cmd.Long, "unread mail") {
			t.Errorf("%s: %v: %s", line, err, cmd.Long)
		}
	}
}
