// Package processes finds and ends the processes below one: an agent's tools have sessions and process groups of their
// own, so only the kernel's table of parents says what belongs to a run.
//
// A supervisor calls [Adopt] first: from then on, a descendant whose parent ends becomes the supervisor's child, and
// none can leave the tree.
//
// The package uses the standard library and golang.org/x/sys only. Start with children.go, then processes_linux.go. On
// systems other than Linux it sees the direct child alone.
package processes
