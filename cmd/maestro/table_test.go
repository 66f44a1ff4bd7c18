package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/commands"
)

// leaves returns the commands of a tree that do something.
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

// runs reports whether a tree has a command of this id.
func runs(tree *cobra.Command, id string) bool {
	words := strings.Split(id, ":")
	cmd, rest, err := tree.Find(words)
	return err == nil && len(rest) == 0 && cmd.CommandPath() == "maestro "+strings.Join(words, " ")
}

// faultsOf holds the command line against the permission table: each command says what it needs, and needs what is
// there; and each id that a list may have is a command.
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

// What may be used and what may be run are the same: no command is beside the permission table, and no list has what is
// not there yet.
func TestTheTableIsTheCommandLine(t *testing.T) {
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
		t.Errorf("with a row that no command belongs to: %q", faults)
	}
	beside := root()
	beside.AddCommand(&cobra.Command{Use: "paint", Run: func(*cobra.Command, []string) {}})
	if faults := faultsOf(rows, beside); len(faults) != 1 {
		t.Errorf("with a command beside the table: %q", faults)
	}
	// Lists are made of those rows.
	table := commands.CurrentRules()
	for _, who := range []commands.RoleSet{
		commands.RoleWorker,
		commands.RoleQueueWorker,
		commands.RoleTreeWorker,
		commands.RoleOrchestrator,
		commands.RoleUser,
	} {
		var all []string // that an explicit list may name
		for _, row := range rows {
			if table.MayList(who, row.ID) == "" {
				all = append(all, row.ID)
			}
		}
		for _, list := range [][]string{table.Defaults(who), table.Effective(who, all), table.Hidden(nil)} {
			for _, id := range list {
				if row, ok := table.Row(id); !ok || row.Planned || !runs(root(), id) {
					t.Errorf("%s is in a list of a %s, and cannot be run", id, who)
				}
			}
		}
	}
}
