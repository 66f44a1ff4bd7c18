//go:build !linux

package processes

import (
	"os"
	"syscall"
)

// Process is what the kernel says about a process; nothing on this system.
type Process struct {
	Parent  int
	Exiting bool
	Started uint64
}

// Adopt does nothing: this system has no such mechanism.
func Adopt() {}

// Ended are the signals that say that a child has ended; none is needed here.
func Ended() []os.Signal { return nil }

// reap does nothing.
func reap(map[int]bool) {}

// Below returns nothing: this system does not list processes.
func Below(int) []int { return nil }

// IsBelow reports whether a process is a descendant of another one: it cannot be told here.
func IsBelow(int, int) bool { return false }

// Signal does nothing.
func Signal([]int, syscall.Signal) {}

// Kill does nothing.
func Kill([]int) {}

// Continue does nothing.
func Continue(int) {}

// KillTree does nothing.
func KillTree(int) {}

// Started returns 0: this system does not list processes.
func Started(int) uint64 { return 0 }

// With returns nothing: this system does not show environments.
func With(string) []int { return nil }

// Exists reports that there may be a process with an id: that cannot be told here.
func Exists(int) bool { return true }
