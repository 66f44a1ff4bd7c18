//go:build !linux

package bus

import "errors"

func memoryRoots() []string { return nil }

func sweptRoots() []string { return nil }

func storesInUse() (map[string]bool, error) { return nil, errors.ErrUnsupported }
