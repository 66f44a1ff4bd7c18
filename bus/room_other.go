//go:build !linux

package bus

// freeBytes does not know: a full disk then shows as a time-out, and Sync looks it up.
func freeBytes(string) (uint64, bool) { return 0, false }

// freeFiles does not know either. Tests replace it.
var freeFiles = func(string) (uint64, bool) { return 0, false }
