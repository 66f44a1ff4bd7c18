package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// RunBriefly runs a program of an agent that says something about itself, as the checks before a run do: behind the
// layers of c, from which the home and the workspaces of c are hidden. It is for somebody who has no run, and uses a
// temporary directory.
func RunBriefly(ctx context.Context, c Config, path string, args, env []string) (said []byte, err error) {
	dir, err := os.MkdirTemp("", "maestro-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	real, err := filepath.EvalSymlinks(dir) // the boundary takes no directory that is reached through a link
	if err != nil {
		return nil, err
	}
	s := &supervisor{Config: c, layers: c.layers()}
	s.dirs.Workspace = filepath.Join(real, "workspace")
	if err := os.MkdirAll(filepath.Join(s.dirs.Workspace, tempDir), 0o700); err != nil {
		return nil, err
	}
	return s.runBriefly(ctx, path, args, env)
}
