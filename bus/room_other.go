//go:build !linux

package bus

// freeBytes is not implemented here: a full disk shows as a time-out, and Sync detects it.
func freeBytes(string) (uint64, bool) { return 0, false }

// freeFiles is not implemented here. Tests replace it.
var freeFiles = func(string) (uint64, bool) { return 0, false }
