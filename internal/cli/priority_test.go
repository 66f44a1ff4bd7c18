package cli

import (
	"reflect"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// The texts that list the priorities list those that there are.
func TestPrioritiesInTexts(t *testing.T) {
	words := events.Priorities()
	last := len(words) - 1
	if want := strings.Join(words[:last], ", ") + " or " + words[last]; events.AnyPriority != want {
		t.Errorf("AnyPriority is %q, want %q", events.AnyPriority, want)
	}
	for _, x := range []struct {
		takes any
		name  string
	}{
		{commands.CreateTask{}, ""},
		{commands.UpdateTask{}, ""},
		{wire.TaskFilter{}, "priority "},
	} {
		field, _ := reflect.TypeOf(x.takes).FieldByName("Priority")
		want := x.name + strings.Join(words, "|")
		if got := field.Tag.Get("flag"); got != want {
			t.Errorf("%T takes %q, want %q", x.takes, got, want)
		}
	}
}
