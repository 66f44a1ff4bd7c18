package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// freeText are the placeholders of values that name no existing object.
var freeText = []string{
	`"<answer>"…`, `"<name>"`, `"<reason>"`, `"<text>"`, `"<text>"…`, `"<words>"`, "", "agentId", "answer",
	"command-line",
	"description", "duration", "duration|time", "int", "json", "mailId", "message", "name", "number", "question",
	"reason", "skillId", "sequence", "sequence:hash", "sequence|time", "skills", "string", "summary", "text", "title",
	"types", "aggregate",
	"type", "url", "variable",
}

// Every placeholder has completions, or is known to be free text, so that a new one is not forgotten.
func TestPlaceholdersHaveCompletions(t *testing.T) {
	root := wholeTree()
	completeFlags(&Run{}, root)
	known := func(kind string) bool {
		return offers[kind] != nil || kind == "commandId" || slices.Contains(slices.Concat(fileKinds, freeText), kind)
	}
	met := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, p := range placeholders(cmd.Use) {
			place := placeOf(cmd, p.written)
			if met[place] = true; !known(p.name) && otherPlaceholder[place] == "" {
				t.Errorf("no rule says what to complete for %s of `%s`", p.written, cmd.CommandPath())
			}
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" {
				return
			}
			kind, many := flagKind(cmd, flag)
			met[placeOf(cmd, "--"+flag.Name)] = true
			if strings.HasSuffix(flag.Value.Type(), "Ids>") != many && kind != "label" {
				t.Errorf("`%s --%s` takes %s; several: %t", cmd.CommandPath(), flag.Name, flag.Value.Type(), many)
			}
			complete, ok := cmd.GetFlagCompletionFunc(flag.Name)
			if !ok {
				t.Fatalf("there is no completion for `%s --%s`", cmd.CommandPath(), flag.Name)
			}
			words, _ := complete(cmd, nil, "")
			if len(words) == 0 && !known(kind) {
				t.Errorf("no rule says what to complete for `%s --%s %s`", cmd.CommandPath(), flag.Name, kind)
			}
		})
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
	}
	visit(root)
	for place := range otherPlaceholder {
		if !met[place] {
			t.Errorf("the exception %s matches no command", place)
		}
	}
}
