//go:build !unix

package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func owned(fs.FileInfo) error { return nil }

// Without a lock that a dead process lets go of, two could deliver at once: nothing is kept here, and whoever wants to keep
// something is told.
func lockExclusive(*os.File) error {
	return fmt.Errorf("an outbox needs locks that this system does not have: %w", errors.ErrUnsupported)
}

func syncDir(*os.File) error { return nil }
