package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// wholeTree is the tree of commands, with stand-ins for those that need more than a server.
func wholeTree() *cobra.Command {
	verb := func(name string) *cobra.Command {
		cmd := &cobra.Command{Use: name, RunE: func(*cobra.Command, []string) error { return nil }}
		cmd.Flags().String("project", "", "")
		return cmd
	}
	return (&Run{More: []Noun{
		{"audit", func(a *Run) *cobra.Command {
			return NewAudit(a, verb("replay [<object>] [<file>]"), verb("diff [<object>] [<file>]"), verb("verify"))
		}},
		{"serve", func(*Run) *cobra.Command { return verb("serve") }},
	}}).Root()
}

// The help of every group refuses an unknown command, and does not show the group's own page.
func TestHelpOfUnknownCommands(t *testing.T) {
	var groups []string
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			groups = append(groups, cmd.CommandPath())
		}
		for _, verb := range cmd.Commands() {
			look(verb)
		}
	}
	look(wholeTree())
	if len(groups) < 10 {
		t.Errorf("there are only the groups %v", groups)
	}
	for _, group := range groups {
		words := strings.Fields(group)[1:]
		for _, args := range [][]string{{"frobnicate"}, {"frobnicate", "--help"}, {"--help", "frobnicate"}} {
			got := runHere(t, nil, append(slices.Clone(words), args...)...)
			if got.code != ExitInvalid || !strings.Contains(got.stderr, "there is no command `"+group+" frobnicate`") {
				t.Errorf("%s %v: exit code %d, %s%s", group, args, got.code, got.stdout, got.stderr)
			}
		}
		if got := runHere(t, nil, append(slices.Clone(words), "--help")...); got.code != 0 || got.stdout == "" {
			t.Errorf("%s --help: exit code %d, %s", group, got.code, got.stderr)
		}
	}
}

// A word that people try leads to the command that they mean.
func TestCommonGuesses(t *testing.T) {
	root := wholeTree()
	for line, want := range map[string]string{
		"done":            "task complete",
		"new":             "task create",
		"init":            "serve",
		"finish":          "task complete",
		"close":           "task complete",
		"cancel":          "task update <taskId> --status cancelled",
		"add":             "task create",
		"search":          `task list --search "<words>"`,
		"depend":          "task update <taskId> --add-depends-on <taskIds>",
		"log":             "audit replay",
		"ps":              "session list",
		"message":         "session message",
		"taks":            "task",
		"tas":             "task",
		"frobnicate":      "",
		"task done":       "task complete",
		"task new":        "task create",
		"task init":       "task create",
		"task finish":     "task complete",
		"task close":      "task complete",
		"task cancel":     "task update <taskId> --status cancelled",
		"task add":        "task create",
		"task search":     `task list --search "<words>"`,
		"task depend":     "task update <taskId> --add-depends-on <taskIds>",
		"task log":        "task get <taskId> --timeline",
		"task ps":         "task list",
		"task message":    "session message",
		"task Done":       "task complete",
		"task lst":        "task list",
		"task comp":       "task complete",
		"task shwo":       "task show",
		"task xyzzy":      "",
		"session done":    "session complete",
		"session new":     "session spawn",
		"session cancel":  "session kill",
		"session ps":      "session list",
		"session send":    "session message",
		"queue done":      "queue complete",
		"queue add":       "queue push",
		"queue cancel":    "queue remove",
		"report done":     "report complete",
		"template edit":   "template update",
		"template remove": "template delete",
		"token delete":    "token revoke",
	} {
		words := strings.Fields(line)
		group, _, err := root.Find(words[:len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		if got := meant(group, words[len(words)-1]); got != want {
			t.Errorf("`maestro %s` suggests %q, not %q", line, got, want)
		}
	}
}

// A suggested command exists, and the word that leads to it is no command.
func TestSuggestedCommandsExist(t *testing.T) {
	root := wholeTree()
	find := func(line string) (cmd *cobra.Command, rest []string) {
		cmd, rest, err := root.Find(strings.Fields(line))
		if err != nil {
			t.Errorf("%q: %s", line, err)
			return root, nil
		}
		return cmd, rest
	}
	for group, words := range meantLines {
		above, _ := find(group)
		for word, line := range words {
			cmd, rest := find(line)
			if cmd.HasSubCommands() {
				t.Errorf("%q is suggested for %q and does nothing by itself", line, word)
			}
			for _, part := range rest {
				name, isFlag := strings.CutPrefix(part, "--")
				if isFlag && cmd.Flags().Lookup(name) == nil {
					t.Errorf("%q is suggested for %q and there is no flag %s", line, word, part)
				}
			}
			if named := slices.ContainsFunc(above.Commands(), func(c *cobra.Command) bool {
				return c.Name() == word || c.HasAlias(word)
			}); named {
				t.Errorf("`maestro %s %s` is a command, but is listed as a word for %q", group, word, line)
			}
		}
	}
	verbs := map[string]bool{}
	for _, noun := range root.Commands() {
		for _, verb := range noun.Commands() {
			verbs[verb.Name()] = true
			for _, name := range verb.Aliases {
				verbs[name] = true
			}
		}
	}
	for word, names := range meantBy {
		for _, name := range names {
			if !verbs[name] {
				t.Errorf("no group has the verb %q, which %q leads to", name, word)
			}
		}
	}
}
