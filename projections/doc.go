// Package projections computes the current state: it folds the log's events into the state of projects, tasks, sessions
// and timelines, and shows that state as views.
//
// It is pure: no network, no files, no clock, no randomness. Of our packages it imports only events.
//
// Start reading at [State] and its Apply, the only fold. A State is either committed or an overlay over a committed one
// ([State.Overlay]). The decisions of a batch are applied to the overlay, and [State.Commit] adopts them once the log
// has acknowledged them; if the batch fails, its overlay is dropped. Values in a State are immutable: Apply replaces
// them, so a reader may keep the values it got. Files that end in view.go have the views.
package projections
