//go:build unix

package damage

import "golang.org/x/sys/unix"

func namedPipe(path string) error { return unix.Mkfifo(path, 0o600) }
