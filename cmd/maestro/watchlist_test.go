package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/internal/cli"
)

// Every command that lists what there is takes --watch. What lists the past does not: `maestro watch` shows events as
// they happen.
func TestListsTakeWatch(t *testing.T) {
	past := []string{"events", "audit replay", "audit diff"}
	var lists []string
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "maestro ")
		quiet := cmd.Flags().Lookup("quiet")
		isList := quiet != nil && quiet.Usage == "print the ids only" || // of what it lists, not of what it made
			slices.Contains([]string{"list", "children", "tree", "status", "inbox"}, cmd.Name())
		if isList && cmd.Runnable() && !slices.Contains(past, path) {
			lists = append(lists, path)
			if watch := cmd.Flags().Lookup("watch"); watch == nil || watch.Value.Type() != "bool" {
				t.Errorf("`maestro %s` has no --watch", path)
			}
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look((&cli.Run{More: more}).Root())
	slices.Sort(lists)
	want := []string{
		"audit denials", "audit limits", "inbox", "input list", "login list", "project list", "queue list",
		"queue status", "runner list", "session list", "skill list", "status", "task children", "task list",
		"task tree", "template list", "token list", "webhook list",
	}
	if !slices.Equal(lists, want) {
		t.Errorf("these commands list:\n%q, want\n%q", lists, want)
	}
}
