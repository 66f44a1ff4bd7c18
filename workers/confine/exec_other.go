//go:build !linux

package confine

import "errors"

// Exec refuses: this system has no layer that could confine a command.
func Exec() (int, error) {
	return codeRefused, errors.New("agent-exec confines commands on Linux only")
}
