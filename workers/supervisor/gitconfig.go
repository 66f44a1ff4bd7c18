package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"maestro/internal/files"
)

// gitSettings are what a configuration of git says about other files.
type gitSettings struct {
	// hooks are directories of hooks, as it names them.
	hooks []string
	// includes are further configurations in the target, relative to it.
	includes []string
	// worktree is where the code of a submodule is, as the configuration names it.
	worktree string
	// perWorktree: git also reads the file config.worktree.
	perWorktree bool
}

const (
	// mostConfig bounds a configuration that is read, in bytes, and mostIncludes how many are.
	mostConfig   = 4 << 20
	mostIncludes = 64
	// gitWithin is how long git may take to read a configuration.
	gitWithin = 10 * time.Second
	// nothingFound is git's exit code for a setting that there is not.
	nothingFound = 1
)

// errNoGit means that git is not installed.
var errNoGit = errors.New("git, which reads its configuration, is not installed on this machine")

// read reads a configuration in the target, and those that it includes from there.
func (g *guard) read(name string) (all gitSettings, err error) {
	for next := []string{name}; len(next) > 0; next = next[1:] {
		if len(all.includes) > mostIncludes {
			return all, fmt.Errorf("%s includes more than %d configurations", name, mostIncludes)
		}
		content, err := files.Read(g.root, next[0], mostConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return all, fmt.Errorf("read %s: %w", next[0], err)
		}
		said, err := g.git(content, "--file", "-", "--no-includes", "--list")
		if err != nil {
			return all, fmt.Errorf("read %s: %w", next[0], err)
		}
		for _, entry := range said {
			key, value, valued := strings.Cut(entry, "\n") // a key without a value is true
			switch {
			case key == "core.hookspath":
				all.hooks = append(all.hooks, value)
			case key == "core.worktree":
				all.worktree = value
			case key == "extensions.worktreeconfig":
				all.perWorktree = !valued || !isFalse(value)
			case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
				included := g.relative(filepath.Dir(next[0]), value)
				if included != "" {
					all.includes, next = append(all.includes, included), append(next, included)
				}
			}
		}
	}
	return all, nil
}

// gitConfigSays returns what `git config` says. It runs no other program, and reads no repository.
func gitConfigSays(ctx context.Context, user string, input []byte, args []string) (said []string, err error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, errNoGit
	}
	ctx, cancel := context.WithTimeout(ctx, gitWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"config", "--null"}, args...)...)
	cmd.Dir = string(filepath.Separator)
	cmd.Env = []string{"HOME=" + user, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+dir)
	}
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == nothingFound && len(failed.Stderr) == 0:
		return nil, nil
	case errors.As(err, &failed):
		return nil, fmt.Errorf("git says: %s", strings.TrimSpace(string(failed.Stderr)))
	case err != nil:
		return nil, fmt.Errorf("run git: %w", err)
	case len(out) == 0:
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// isFalse reports whether git takes a value for false.
func isFalse(value string) bool {
	switch strings.ToLower(value) {
	case "false", "no", "off", "0", "":
		return true
	}
	return false
}
