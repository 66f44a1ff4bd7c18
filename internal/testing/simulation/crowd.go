package simulation

import (
	"maestro/commands"
	documents "maestro/internal/oracle"
)

// shortKey is the limit order-key in these runs: no run has as many moves as the real limit takes.
const shortKey = 18

func init() {
	commands.LimitOrderKey.Value = shortKey
	documents.LimitOrderKey(shortKey)
}

// crowd puts tasks so often next to one of their siblings that the tasks there get new keys, several times; some are
// below another parent, and some were deleted.
func (w *world) crowd() *Failure {
	var f *Failure
	do := func(id string, x fields) *model {
		if f == nil {
			f = w.ask(admin, id, x)
		}
		return w.oracle.model()
	}
	project := last(do("project:create", fields{Name: ptr("Crowd")}).projectIDs)
	task := func(title, parent string) string {
		x := fields{Project: project, Title: &title}
		if parent != "" {
			x.ParentID = &parent
		}
		return last(do("task:create", x).taskIDs)
	}
	first := task("First", "")
	one, two, gone, end := task("One", ""), task("Two", ""), task("Gone", ""), task("End", "")
	below, beside := task("Below", end), task("Beside", end)
	for i, id := range []string{one, two, gone, two, one, two, one, two, one, two, one, two, one, two, one} {
		do("task:update", fields{TaskID: id, After: first})
		switch i {
		case 2:
			do("task:update", fields{TaskID: below, After: beside})
			do("task:delete", fields{TaskID: gone})
		case 9:
			do("task:update", fields{TaskID: below, ParentID: ptr("null"), After: one})
			do("task:update", fields{TaskID: beside, ParentID: ptr("null"), Before: two})
		}
	}
	for range 7 {
		do("task:update", fields{TaskID: one, Before: end})
		do("task:update", fields{TaskID: two, Before: end})
	}
	do("task:update", fields{TaskID: end, Before: one})
	return f
}
