package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"maestro/engine"
)

var (
	namedCommand = regexp.MustCompile("`maestro ([^`]+)`")
	verb         = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// Every fault that an audit can find has a row in docs/operations.md, and every command in its next step or on that
// page exists, with its flags.
func TestEveryFaultHasARemedy(t *testing.T) {
	content, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(content)
	for _, rule := range engine.FaultRules() {
		if !strings.Contains(guide, "\n| `"+string(rule)+"` |") {
			t.Errorf("docs/operations.md has no row for the fault %q", rule)
		}
		existingCommands(t, string(rule), rule.Next())
	}
	existingCommands(t, "docs/operations.md", guide)
}

// The pages for people name only commands and flags that exist. The decisions and the changelog are history, and
// docs/spec is the user's.
func TestPagesNameCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		existingCommands(t, page, string(content))
	}
}

func existingCommands(t *testing.T, where, text string) {
	t.Helper()
	for _, found := range namedCommand.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(found[1])
		top := root()
		top.InitDefaultCompletionCmd()
		cmd, rest, err := top.Find(words)
		if err != nil || !cmd.Runnable() && cmd.HasSubCommands() {
			t.Errorf("%s names `maestro %s`, which does not exist: %v", where, found[1], err)
			continue
		}
		if cmd.HasSubCommands() && len(rest) > 0 && verb.MatchString(rest[0]) {
			t.Errorf("%s names `maestro %s`, but `%s` has no %s", where, found[1], cmd.CommandPath(), rest[0])
		}
		cmd.InitDefaultHelpFlag()
		if end := slices.Index(rest, "--"); end >= 0 {
			rest = rest[:end]
		}
		for _, word := range rest {
			if name, isFlag := strings.CutPrefix(word, "--"); isFlag &&
				flagOf(cmd.Flags(), cmd.InheritedFlags(), name) == nil {
				t.Errorf("%s names `maestro %s`, which has no flag --%s", where, found[1], name)
			}
		}
	}
}

func flagOf(own, inherited *pflag.FlagSet, name string) *pflag.Flag {
	if f := own.Lookup(name); f != nil {
		return f
	}
	return inherited.Lookup(name)
}
