//go:build !linux

package bus

import "os"

func memoryRoots() []string { return nil }

func ownedByUs(os.FileInfo) bool { return false }
