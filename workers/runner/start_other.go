//go:build !unix

package runner

import "syscall"

// detached has no meaning here.
func detached() *syscall.SysProcAttr { return nil }
