package commands

import "slices"

// rows3 is version 3 of the table: every session may write to the one that spawned it, and wait for its own mail, and
// queues can be changed.
func rows3() []Row {
	rows := slices.Clone(rows1)
	for i := range rows {
		if rows[i].ID == "session:message" {
			rows[i].Who = agents | U
		}
	}
	next := slices.IndexFunc(rows, func(r Row) bool { return r.ID == "project:update" })
	rows = slices.Insert(rows, next, queueChanges...)
	behind := slices.IndexFunc(rows, func(r Row) bool { return r.ID == "input:received" }) + 1
	return slices.Insert(rows, behind, Row{ID: "input:wait", Who: agents, Rule: "its own mail"})
}

// queueChanges are the rows that version 3 adds behind the other commands of the user on queues.
var queueChanges = []Row{
	{ID: "queue:move", Who: U, makes: of((*MoveItem).from), Rule: "queued items"},
	{ID: "queue:remove", Who: U, makes: of((*RemoveItem).from), Rule: "items that nobody holds"},
	{ID: "queue:delete", Who: U, makes: of((*DeleteQueue).from), Rule: "nothing queued, nothing held"},
}
