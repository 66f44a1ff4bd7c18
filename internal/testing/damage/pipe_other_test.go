//go:build !unix

package damage

import "os"

// namedPipe creates a directory instead: this system has no named pipes in directories.
func namedPipe(path string) error { return os.Mkdir(path, 0o700) }
