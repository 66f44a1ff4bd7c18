package service

import (
	"fmt"
	"testing"

	"maestro/projections"
)

// An answer names a bounded number of tasks, however many it mentions.
func TestNamesAreBounded(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	var ids []string
	for i := range 60 {
		ids = append(ids, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i)))
	}
	w.Handler.View(func(state *projections.State) {
		names := w.At(state, w.admin()).names(ids...)
		if len(names) != 40 || names[ids[0]] != "T0" || names[ids[39]] != "T39" {
			t.Errorf("%d names: %v", len(names), names)
		}
	})
}
