package projections

import "strings"

// NextOr separates the commands of an item of which one is to be chosen.
const NextOr = ", or "

// Steps returns the commands of which one is to be chosen.
func (item *InboxItem) Steps() []string {
	steps := strings.Split(item.Next, NextOr+"maestro ")
	for i := 1; i < len(steps); i++ {
		steps[i] = "maestro " + steps[i]
	}
	return steps
}
