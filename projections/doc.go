// Package projections says what is true: it folds the log's events into the state of projects, tasks, sessions and
// timelines, and shows that state as views.
//
// It is pure: no network, no file, no clock, no randomness. It imports events and nothing else of ours.
//
// Start reading at [State] and its Apply, the one fold. A State is either committed or an overlay over a committed one
// ([State.Overlay]): decisions of a batch are applied to the overlay, and [State.Commit] takes them over once the log
// has acknowledged them; a failed batch is forgotten by forgetting its overlay. Values in a State are immutable: Apply
// replaces them, so a reader may keep what it was given. Files that end in view.go have the views.
package projections
