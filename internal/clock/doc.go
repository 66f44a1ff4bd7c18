// Package clock gives the time that events are stamped with and that deadlines are held against.
//
// A machine has two clocks: the wall clock, which somebody may set, and the time since it was started, which only
// goes on and counts sleep. A [Clock] follows the wall clock as long as the two agree. When the wall clock moves by
// more than [Tolerance] against the other one, the Clock goes on by the other one until an operator confirms the wall
// clock. It never goes back and never stands still, so a deadline always comes.
package clock
