package commands

import "slices"

// rows3 is version 3 of the table: every session may write to the one that spawned it.
func rows3() []Row {
	rows := slices.Clone(rows1)
	for i := range rows {
		if rows[i].ID == "session:message" {
			rows[i].Who = agents | U
		}
	}
	return rows
}
