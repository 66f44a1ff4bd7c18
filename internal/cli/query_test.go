package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/service/wire"
)

// The flags of a list are those that its query's shape names, described once.
func TestFlagsOfListsComeFromTheirQueries(t *testing.T) {
	for _, query := range []any{&wire.TaskFilter{}, &wire.SessionFilter{}} {
		cmd := &cobra.Command{Use: "list"}
		bindQuery(cmd, query)
		shape := reflect.TypeOf(query).Elem()
		flags := 0
		for i := range shape.NumField() {
			tag, ok := shape.Field(i).Tag.Lookup("flag")
			if !ok {
				continue
			}
			flags++
			name, takes, _ := strings.Cut(tag, " ")
			flag := cmd.Flags().Lookup(name)
			doc := strings.TrimPrefix(shape.Field(i).Tag.Get("doc"), "true: ")
			if flag == nil || !strings.HasSuffix(flag.Usage, doc) {
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
		if flags < 3 {
			t.Errorf("%s names %d flags", shape, flags)
		}
	}
}
