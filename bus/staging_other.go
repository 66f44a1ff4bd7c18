//go:build !linux

package bus

import (
	"errors"
	"os"
)

func memoryRoots() []string { return nil }

func lockDirectory(string, bool) (*os.File, error) { return nil, errors.ErrUnsupported }

func storesInUse() (map[string]bool, error) { return nil, errors.ErrUnsupported }

func ownedByUs(os.FileInfo) bool { return false }
