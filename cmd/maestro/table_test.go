package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/internal/testing/race"
)

// leaves returns the commands of a tree that do something themselves.
func leaves(cmd *cobra.Command) []*cobra.Command {
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	var all []*cobra.Command
	for _, verb := range cmd.Commands() {
		all = append(all, leaves(verb)...)
	}
	return all
}

// runs reports whether a tree has a command with this id.
func runs(tree *cobra.Command, id string) bool {
	words := strings.Split(id, ":")
	cmd, rest, err := tree.Find(words)
	return err == nil && len(rest) == 0 && cmd.CommandPath() == "maestro "+strings.Join(words, " ")
}

// faultsOf compares the command line with the permission table: each command declares what it needs, and needs only
// what exists; and each id that a list may contain is a command.
func faultsOf(rows []commands.Row, tree *cobra.Command) []string {
	var faults []string
	there := map[string]bool{}
	for _, row := range rows {
		there[row.ID] = !row.Planned
	}
	offered := map[string]bool{}
	for _, cmd := range leaves(tree) {
		needs, said := cmd.Annotations["needs"]
		if !said {
			faults = append(faults, cmd.CommandPath()+" does not say what it needs")
		}
		for _, id := range strings.FieldsFunc(needs, func(r rune) bool { return r == ',' }) {
			offered[id] = offered[id] || runs(tree, id)
			if !there[id] {
				faults = append(faults, cmd.CommandPath()+" needs "+id+", which is not there")
			}
		}
	}
	for _, row := range rows {
		user := row.Who&^(commands.RoleRunner|commands.RoleSystem) != 0
		switch {
		case row.Planned && offered[row.ID]:
			faults = append(faults, row.ID+" is planned, and there")
		case user && !row.Planned && !offered[row.ID]:
			faults = append(faults, row.ID+" is in lists, and is no command")
		}
	}
	return faults
}

// The permission table and the command line agree: no command is missing from the table, and no list contains a command
// that does not exist yet.
func TestTableMatchesCommandLine(t *testing.T) {
	race.Without(t)
	rows := commands.CurrentRules().Rows()
	for _, fault := range faultsOf(rows, root()) {
		t.Error(fault)
	}
	without := slices.DeleteFunc(slices.Clone(rows), func(row commands.Row) bool { return row.ID == "input:wait" })
	if faults := faultsOf(without, root()); len(faults) != 1 {
		t.Errorf("without the row of input:wait: %q", faults)
	}
	planned := append(slices.Clone(rows), commands.Row{ID: "task:paint", Who: commands.RoleWorker})
	if faults := faultsOf(planned, root()); len(faults) != 1 {
		t.Errorf("with a row without a command: %q", faults)
	}
	beside := root()
	beside.AddCommand(&cobra.Command{Use: "paint", Run: func(*cobra.Command, []string) {}})
	if faults := faultsOf(rows, beside); len(faults) != 1 {
		t.Errorf("with a command outside the table: %q", faults)
	}
	// Lists contain only such rows.
	table := commands.CurrentRules()
	for _, who := range []commands.RoleSet{
		commands.RoleWorker,
		commands.RoleQueueWorker,
		commands.RoleTreeWorker,
		commands.RoleOrchestrator,
		commands.RoleUser,
	} {
		var all []string // the ids that an explicit list may contain
		for _, row := range rows {
			if table.MayList(who, row.ID) == "" {
				all = append(all, row.ID)
			}
		}
		for _, list := range [][]string{table.Defaults(who), table.Effective(who, all), table.Hidden(nil)} {
			for _, id := range list {
				if row, ok := table.Row(id); !ok || row.Planned || !runs(root(), id) {
					t.Errorf("%s is in a list of a %s, but cannot be run", id, who)
				}
			}
		}
	}
}
