//go:build !unix

package damage

import "os"

// namedPipe makes a directory where there are no pipes in directories.
func namedPipe(path string) error { return os.Mkdir(path, 0o700) }
