package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/testing/race"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

var (
	quotedWord  = regexp.MustCompile(`"[^"]*"|\S+`)
	placeholder = regexp.MustCompile(`<([^>]*)>`)
	mayBeLeft   = regexp.MustCompile(` \[[^]]*\]…?`)
	syntaxMarks = strings.NewReplacer("[", "", "]", "", "…", "")
)

// accepts reports whether this binary accepts a command line, without running it.
func accepts(line string) error {
	line = placeholder.ReplaceAllStringFunc(line, func(name string) string {
		switch name {
		case "<duration>":
			return "5m"
		case "<number>":
			return "3"
		}
		return "x"
	})
	words := quotedWord.FindAllString(line, -1)
	if len(words) < 2 || words[0] != "maestro" {
		return errors.New("it is no command line of maestro's")
	}
	for i, word := range words {
		words[i] = strings.Trim(word, `"`)
		if word[0] != '"' {
			words[i], _, _ = strings.Cut(word, "|") // one of several
		}
	}
	tree := root()
	cmd, rest, err := tree.Find(words[1:])
	if err != nil {
		return err
	}
	if !cmd.Runnable() || cmd.HasSubCommands() {
		return errors.New("it is a group of commands, not one")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	for _, check := range []func() error{
		func() error { return cmd.ValidateArgs(cmd.Flags().Args()) }, cmd.ValidateRequiredFlags, cmd.ValidateFlagGroups,
		func() error { return cli.CheckFlags(cmd) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func TestAcceptsSeesFaults(t *testing.T) {
	for _, line := range []string{
		"maestro", "task get x", "maestro task", "maestro task frobnicate x", "maestro task get",
		"maestro task get x y", "maestro task get x --nope",
		"maestro queue start --wait --timeout soon", "maestro session list --status nope",
		"maestro queue top --session s --queue q",
		`maestro report progress two words`, `maestro report progress "x" --task ""`,
	} {
		if accepts(line) == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

// TestSyntax: this binary accepts the syntax of every command id, with and without its optional parts; and every id of
// the permission table for which the binary has a command has a syntax.
func TestSyntax(t *testing.T) {
	tree := root()
	for _, row := range commands.CurrentRules().Rows() {
		syntax, description, ok := prompt.Syntax(row.ID)
		has := runs(tree, row.ID)
		if ok != has {
			t.Errorf("%s: this binary has it: %t; it has a syntax: %t (make generate)", row.ID, has, ok)
		}
		if !ok {
			continue
		}
		if !strings.HasPrefix(syntax, "maestro "+strings.ReplaceAll(row.ID, ":", " ")) || description == "" {
			t.Errorf("%s has the syntax %q: %q", row.ID, syntax, description)
		}
		for _, line := range []string{syntaxMarks.Replace(syntax), mayBeLeft.ReplaceAllString(syntax, "")} {
			if err := accepts(line); err != nil {
				t.Errorf("%s: %s: %v", row.ID, line, err)
			}
		}
	}
}

// notForAgents are the command lines in no list of a session: an editor is for people, and the others are for programs.
var notForAgents = []string{"task edit", "input received", "session heartbeat"}

// TestListsAreWhole: every list of what a caller may run names each command line whose permissions it has, but for
// notForAgents, and no other, and this binary accepts its syntax.
func TestListsAreWhole(t *testing.T) {
	race.Without(t)
	table := commands.CurrentRules()
	for _, caller := range []struct {
		who      commands.RoleSet
		role     events.Role
		strategy events.Strategy
	}{
		{commands.RoleWorker, events.RoleWorker, events.StrategySimple},
		{commands.RoleQueueWorker, events.RoleWorker, events.StrategyQueue},
		{commands.RoleTreeWorker, events.RoleWorker, events.StrategyTree},
		{commands.RoleOrchestrator, events.RoleOrchestrator, events.StrategyDefault},
		{commands.RoleUser, "user", ""},
	} {
		session := caller.role != "user"
		allowed := table.Defaults(caller.who)
		lines := prompt.Lines(session, allowed)
		brief := prompt.Brief(string(caller.role), string(caller.strategy), allowed)
		told := map[string]bool{}
		if session {
			told = toldBy(t, caller.role, caller.strategy)
		}
		named := 0
		for _, cmd := range commandsBelow(root()) {
			needs, known := cmd.Annotations["needs"]
			line := strings.TrimPrefix(cmd.CommandPath(), "maestro ")
			id := strings.ReplaceAll(line, " ", ":")
			if !known && !slices.Contains([]string{"help", "completion"}, strings.Fields(line)[0]) {
				t.Errorf("%s: internal/cli/needs.go does not say what it needs", line)
			}
			only := cmd.Annotations["only-for"]
			may := needs != "" && (only == "" || (only == "sessions") == session)
			for need := range strings.SplitSeq(needs, ",") {
				row, _ := table.Row(need)
				may = may && (slices.Contains(allowed, need) || slices.Contains(allowed, row.Alias))
			}
			if session && slices.Contains(notForAgents, line) {
				may = false
			}
			inBrief := strings.Contains(brief, "- `maestro "+line+" ") ||
				strings.Contains(brief, "- `maestro "+line+"`")
			if listed := slices.Contains(lines, id); listed != may || inBrief != may {
				t.Errorf("%s %s: may run %s: %t; it is in its list: %t, in its brief: %t",
					caller.role, caller.strategy, line, may, listed, inBrief)
			}
			if session && told[id] != may {
				t.Errorf("%s %s: may run %s: %t; it is in its prompt: %t",
					caller.role, caller.strategy, line, may, told[id])
			}
			if may {
				named++
			}
		}
		if named != len(lines) || named == 0 {
			t.Errorf("%s %s: %d command lines, the list has %d", caller.role, caller.strategy, named, len(lines))
		}
		for _, id := range lines {
			syntax, _, _ := prompt.Syntax(id)
			if id == "session:exec" { // its arguments are another command
				continue
			}
			if err := accepts(syntaxMarks.Replace(mayBeLeft.ReplaceAllString(syntax, ""))); err != nil {
				t.Errorf("%s: %v", syntax, err)
			}
		}
	}
}

// toldBy returns the ids of the command lines in the prompt of a session with the defaults of its role.
func toldBy(t *testing.T, role events.Role, strategy events.Strategy) map[string]bool {
	t.Helper()
	m := &manifest.Manifest{Role: role, Strategy: strategy, Tasks: []manifest.Task{{ID: "t"}}}
	system, err := prompt.Renderer{}.System(m, prompt.Session{Queue: "q"})
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Commands []struct {
			Name        string `xml:"name,attr"`
			Description string `xml:"description,attr"`
		} `xml:"commands>group>command"`
	}
	if err := xml.Unmarshal(bytes.TrimSpace(system), &said); err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, c := range said.Commands {
		told[c.Name] = true
		if role == events.RoleWorker && strings.Contains(c.Description, "--all") {
			t.Errorf("a worker is told of what only an orchestrator may do: %s", c.Description)
		}
	}
	return told
}

// commandsBelow returns the command lines that do something.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	var all []*cobra.Command
	for _, verb := range cmd.Commands() {
		all = append(all, commandsBelow(verb)...)
	}
	return all
}

// TestWorkflowsAreExecutable: this binary accepts every command line in a workflow.
func TestWorkflowsAreExecutable(t *testing.T) {
	backquoted := regexp.MustCompile("`([^`]+)`")
	for role, strategies := range map[events.Role][]events.Strategy{
		events.RoleWorker:       {events.StrategySimple, events.StrategyQueue, events.StrategyTree},
		events.RoleOrchestrator: {events.StrategyDefault, events.StrategyBatching, events.StrategyDAG},
	} {
		for _, strategy := range strategies {
			for _, allowed := range []*[]string{nil, {"task:children", "task:get", "report:complete"}} {
				m := &manifest.Manifest{Role: role, Strategy: strategy, Tasks: []manifest.Task{{ID: "t"}}}
				m.Session.AllowedCommands = allowed
				system, err := prompt.Renderer{}.System(m, prompt.Session{Queue: "q"})
				if err != nil {
					t.Fatal(err)
				}
				var said struct {
					Instruction string   `xml:"identity>instruction"`
					Phases      []string `xml:"workflow>phase"`
				}
				if err := xml.Unmarshal(bytes.TrimSpace(system), &said); err != nil {
					t.Fatal(err)
				}
				lines := backquoted.FindAllStringSubmatch(strings.Join(slices.Concat([]string{said.Instruction},
					said.Phases), "\n"), -1)
				if len(lines) < 2 {
					t.Errorf("%s %s names %d commands", role, strategy, len(lines))
				}
				for _, line := range lines {
					if err := accepts(line[1]); err != nil {
						t.Errorf("%s %s: %s: %v", role, strategy, line[1], err)
					}
				}
			}
		}
	}
}

// TestAlternativesAreExecutable: this binary accepts every command line that a refusal suggests instead.
func TestAlternativesAreExecutable(t *testing.T) {
	table := commands.CurrentRules()
	lines := map[string]bool{}
	for _, row := range table.Rows() {
		for _, who := range []commands.RoleSet{
			commands.RoleWorker,
			commands.RoleQueueWorker,
			commands.RoleTreeWorker,
			commands.RoleOrchestrator,
		} {
			for _, allowed := range [][]string{table.Defaults(who), table.Effective(who, nil)} {
				_, line := table.Alternative(who, allowed, row.ID)
				lines[line] = true
			}
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d alternatives", len(lines))
	}
	for line := range lines {
		if err := accepts(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
