package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/service/wire"
)

// notFlags are query parameters that the command line sets itself, with a flag of its own (--active, --order) or
// without one.
var notFlags = []string{
	"projectId", "order", "sort", "brief", "cursor", "active", "living", "idPrefix", "ids", "name", "wait",
}

// The flags of a list are those of its query's shape, described only there, and the list has all of them.
func TestFlagsOfListsComeFromTheirQueries(t *testing.T) {
	a := &Run{Env: map[string]string{}}
	for list, query := range map[*cobra.Command]any{
		newTaskList(a):     &wire.TaskFilter{},
		newSessionList(a):  &wire.SessionFilter{},
		newInputList(a):    &wire.InputFilter{},
		newQueueList(a):    &wire.QueueName{},
		newInbox(a):        &wire.InboxFilter{},
		newAuditDenials(a): &wire.DenialFilter{},
	} {
		cmd := &cobra.Command{Use: "list"}
		bindQuery(cmd, query)
		shape := reflect.TypeOf(query).Elem()
		flags := 0
		for i := range shape.NumField() {
			tag, ok := shape.Field(i).Tag.Lookup("flag")
			if parameter := shape.Field(i).Tag.Get("query"); !ok {
				if parameter != "" && !slices.Contains(notFlags, parameter) {
					t.Errorf("%s has the parameter %s, and its list has no flag for it", shape, parameter)
				}
				continue
			}
			flags++
			name, takes, _ := strings.Cut(tag, " ")
			flag := cmd.Flags().Lookup(name)
			if of := list.Flags().Lookup(name); of == nil || flag != nil && !strings.HasPrefix(of.Usage, flag.Usage) {
				t.Errorf("`%s` does not have the flag --%s of its query: %v", list.Name(), name, of)
			}
			doc := strings.TrimPrefix(shape.Field(i).Tag.Get("doc"), "true: ")
			if flag == nil || !strings.Contains(flag.Usage, doc) {
				t.Fatalf("%s of %s is not the flag %v", name, shape, flag)
			}
			value := "x"
			if takes == "true" {
				value = "true"
			}
			for _, given := range []string{value, map[bool]string{true: "false"}[takes == "true"]} {
				if err := cmd.Flags().Set(name, given); err != nil {
					t.Error(err)
				}
				want := given
				if given == "false" {
					want = ""
				}
				if got := reflect.ValueOf(query).Elem().Field(i).String(); got != want {
					t.Errorf("--%s=%s of %s sets %q, want %q", name, given, shape, got, want)
				}
			}
		}
		if flags == 0 {
			t.Errorf("%s has no flags", shape)
		}
	}
}
