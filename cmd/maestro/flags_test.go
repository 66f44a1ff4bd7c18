package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// meanings are the meanings of flags that several commands describe in different words. A command that uses such a name
// for something else needs another name.
var meanings = map[string]string{
	"actor":            "who did it",
	"accept-faults":    "take events that break a rule",
	"after-event":      "the event after which it begins",
	"at":               "the moment that is shown",
	"all":              "everything there is, not what is meant without it",
	"backup-dir":       "where the automatic backups are",
	"before":           "what it is put before",
	"criteria":         "the acceptance criteria of the task",
	"depends-on":       "the tasks that it depends on",
	"description":      "the description",
	"file":             "the file of the text: where it is read from or written to; - is stdin or stdout",
	"force":            "do it although the state of a task speaks against it",
	"from":             "where in the log it begins",
	"allow-git-config": "what agents may change of git",
	"fix-permissions":  "what may be changed of a working directory",
	"home":             "the home",
	"kind":             "the kind, of those that its noun has",
	"labels":           "the labels of the task",
	"limit":            "how many are listed",
	"manifest":         "the file of the session's manifest",
	"metadata":         "the metadata",
	"mine":             "those of your session",
	"model":            "the model for the work",
	"name":             "the name",
	"order":            "the order of the list",
	"parent":           "the task above it",
	"plan-id":          "the id in a plan",
	"priority":         "the priority",
	"project":          "the project",
	"queue":            "the queue",
	"quiet":            "print only what a script keeps",
	"reason":           "the reason, for whom it concerns",
	"role":             "the role",
	"runner":           "the runner that launches agents",
	"session":          "the session",
	"signer":           "who signed the backup",
	"type":             "the type, of those that its noun has",
	"skills":           "the skills",
	"status":           "the status, of those that its noun has",
	"strategy":         "the strategy of the session",
	"task":             "the task",
	"task-ids":         "the tasks of the session",
	"timeout":          "after which time it ends",
	"to":               "where in the log it ends",
	"tree":             "with the sessions below it",
	"wait":             "wait for what the command is about",
	"working-dir":      "the directory of the project's code",

	"working-directory": "where the session works",
}

// TestFlagsMeanOneThing: a flag has the same type in every command, and the same description or a meaning in the list
// above.
func TestFlagsMeanOneThing(t *testing.T) {
	faults := confused(root())
	for _, fault := range faults {
		t.Error(fault)
	}
	for name := range meanings {
		if !slices.Contains(differing(root()), name) {
			t.Errorf("no two commands describe --%s differently: leave it out of the list", name)
		}
	}
	for _, wrong := range []func(f *pflag.FlagSet){
		func(f *pflag.FlagSet) { f.Bool("file", false, "") },
		func(f *pflag.FlagSet) { f.String("output", "", "where to write it") },
		func(f *pflag.FlagSet) { f.Duration("lease", 0, "what is let") },
		func(f *pflag.FlagSet) { f.BoolP("recursive", "q", false, "delete everything below it too") },
	} {
		planted := root()
		command := &cobra.Command{Use: "paint", Run: func(*cobra.Command, []string) {}}
		wrong(command.Flags())
		planted.AddCommand(command)
		if len(confused(planted)) <= len(faults) {
			t.Errorf("%s is not noticed", command.Flags().FlagUsages())
		}
	}
}

// kindOf returns the kind of a flag's value: the same for one value and for several, and for words of any list.
func kindOf(flag *pflag.Flag) string {
	kind := regexp.MustCompile(`["…]|s>$`).ReplaceAllStringFunc(flag.Value.Type(), func(part string) string {
		return strings.TrimLeft(part, `"…s`)
	})
	if basic := []string{"", "bool", "int", "string", "duration"}; !strings.HasPrefix(kind, "<") &&
		!slices.Contains(basic, kind) {
		kind = "word"
	}
	return kind + " -" + flag.Shorthand
}

func confused(tree *cobra.Command) (faults []string) {
	kinds := map[string]string{}
	letters := map[string]string{}
	everyFlag(tree, func(cmd *cobra.Command, flag *pflag.Flag) {
		where := cmd.CommandPath() + " --" + flag.Name
		if kind, seen := kinds[flag.Name]; seen && kind != kindOf(flag) {
			faults = append(faults, fmt.Sprintf("%s takes %s, elsewhere %s", where, kindOf(flag), kind))
		}
		kinds[flag.Name] = kindOf(flag)
		if flag.Shorthand == "" {
			return
		}
		if name, seen := letters[flag.Shorthand]; seen && name != flag.Name {
			faults = append(faults, fmt.Sprintf("%s is -%s, and so is --%s", where, flag.Shorthand, name))
		}
		letters[flag.Shorthand] = flag.Name
	})
	for _, name := range differing(tree) {
		if meanings[name] == "" {
			faults = append(faults, "--"+name+" is described in several ways, and no meaning covers them")
		}
	}
	return faults
}

// differing are the flags that commands describe differently.
func differing(tree *cobra.Command) (names []string) {
	usages := map[string]string{}
	everyFlag(tree, func(_ *cobra.Command, flag *pflag.Flag) {
		if usage, seen := usages[flag.Name]; seen && usage != flag.Usage && !slices.Contains(names, flag.Name) {
			names = append(names, flag.Name)
		}
		usages[flag.Name] = flag.Usage
	})
	return names
}

func everyFlag(tree *cobra.Command, do func(*cobra.Command, *pflag.Flag)) {
	for _, cmd := range leaves(tree) {
		_ = cmd.InheritedFlags() // merges the flags of the root command
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "help" {
				do(cmd, flag)
			}
		})
	}
}
