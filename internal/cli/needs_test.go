package cli

import (
	"slices"
	"testing"

	"maestro/commands"
)

// What the server says that a command line without an id of its own needs is what the command line needs.
func TestServerKnowsWhatLinesNeed(t *testing.T) {
	for _, u := range Usages((&Run{}).Root()) {
		if len(u.Needs) == 0 {
			continue
		}
		if needs, ok := commands.Needs(u.ID); !ok || !slices.Equal(needs, u.Needs) {
			t.Errorf("%s needs %v, and the server knows %v", u.ID, u.Needs, needs)
		}
	}
}
