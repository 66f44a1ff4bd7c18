package service

import (
	"fmt"
	"strconv"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// An answer names a bounded number of tasks, however many it mentions.
func TestNamesAreBounded(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	var ids []string
	for i := range 60 {
		ids = append(ids, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i)))
	}
	for _, limit := range []int{1, 50} { // a list of events names what each of them mentions
		found, _, err := w.ListEvents(t.Context(), w.admin(), &wire.EventsQuery{Limit: strconv.Itoa(limit)})
		if err != nil || len(found.Events) != limit || len(found.Names) != limit || found.Names[ids[59]] != "T59" {
			t.Errorf("%d events have the names %v, %v", limit, found.Names, err)
		}
	}
	w.Handler.View(func(state *projections.State) {
		names := w.At(state, w.admin()).names(ids...)
		if len(names) != 40 || names[ids[0]] != "T0" || names[ids[39]] != "T39" {
			t.Errorf("%d names: %v", len(names), names)
		}
	})
}
