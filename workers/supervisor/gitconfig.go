package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"maestro/internal/files"
)

// gitSettings are what configurations of git say about other files.
type gitSettings struct {
	// hooks are directories of hooks; a relative one counts from the worktree.
	hooks []string
	// worktree is where the code of a submodule is, as the configuration names it.
	worktree string
	// perWorktree: git also reads the file config.worktree.
	perWorktree bool
}

const (
	// mostConfig bounds a configuration that is read, in bytes, and mostIncludes how many are read for one.
	mostConfig   = 4 << 20
	mostIncludes = 64
	// gitWithin is how long git may take to read a configuration.
	gitWithin = 10 * time.Second
	// fatal is git's exit code for a configuration that it cannot read.
	fatal = 128
)

// errNoGit means that git is not installed.
var errNoGit = errors.New("git, which reads its configuration, is not installed on this machine")

// usersConfigs returns the configurations that git reads in every repository.
func usersConfigs(user string) []string {
	shared := os.Getenv("XDG_CONFIG_HOME")
	if shared == "" {
		shared = filepath.Join(user, ".config")
	}
	return []string{"/etc/gitconfig", filepath.Join(shared, "git", "config"), filepath.Join(user, ".gitconfig")}
}

// read reads configurations, and what they include, under whatever condition. It adds those that are in the target.
func (g *guard) read(configs ...string) (all gitSettings, err error) {
	most := len(configs) + mostIncludes
	for i := 0; i < len(configs); i++ {
		path := configs[i]
		if i == most {
			return all, fmt.Errorf("%s includes more than %d configurations", configs[0], mostIncludes)
		}
		if err := g.keepIfThere(path); err != nil {
			return all, err
		}
		content, err := readConfig(path)
		var irregular *files.IrregularError
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR),
			errors.As(err, &irregular):
			continue // git reads nothing there either, and if it is in the target, it stays as it is
		}
		if err != nil {
			return all, fmt.Errorf("read %s: %w", path, err)
		}
		// It is on standard input, where an include is not followed.
		said, err := g.git(content, "--file", "-", "--no-includes", "--list")
		if errors.Is(err, errUnreadable) {
			continue // git does nothing where it cannot read the configuration
		}
		if err != nil {
			return all, fmt.Errorf("read %s: %w", path, err)
		}
		for _, entry := range said {
			included, err := all.says(g, entry, path)
			if err != nil {
				return all, err
			}
			if included != "" && !slices.Contains(configs, included) {
				configs = append(configs, included)
			}
		}
	}
	return all, nil
}

// says notes what a line of a configuration says, and returns the configuration that it includes, "" if it does not. An
// included file in the target is made if it is missing.
func (all *gitSettings) says(g *guard, entry, config string) (included string, err error) {
	key, value, valued := strings.Cut(entry, "\n") // a key without a value is true
	switch {
	case key == "core.hookspath" && value != "":
		all.hooks = append(all.hooks, g.expanded(value))
	case key == "core.worktree":
		all.worktree = value
	case key == "extensions.worktreeconfig":
		all.perWorktree = !valued || !isFalse(value)
	case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
		if included = g.expanded(value); included == "" {
			return "", nil
		}
		if !filepath.IsAbs(included) {
			included = filepath.Join(filepath.Dir(config), included)
		}
		return included, g.keepFile(included)
	}
	return "", nil
}

// readConfig returns the content of a file of git's.
func readConfig(path string) ([]byte, error) {
	f, err := files.OpenNamed(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	if err == nil && len(content) > mostConfig {
		err = fmt.Errorf("it has more than %d bytes", mostConfig)
	}
	return content, err
}

// errUnreadable means that git does not understand a configuration.
var errUnreadable = errors.New("git cannot read this configuration")

// gitConfigSays returns what `git config` says. It runs no other program, and reads no repository.
func gitConfigSays(run runGit, input []byte, args []string) (said []string, err error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, errNoGit
	}
	out, problems, err := run(path, append([]string{"git", "config", "--null"}, args...), input)
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == fatal:
		return nil, fmt.Errorf("%w: %s", errUnreadable, strings.TrimSpace(string(problems)))
	case err != nil:
		return nil, fmt.Errorf("run git: %w: %s", err, strings.TrimSpace(string(problems)))
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
