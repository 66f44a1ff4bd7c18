package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"maestro/internal/files"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// mostGitFile bounds what is read of a file .git, which names the repository of a linked worktree or a submodule.
const mostGitFile = 4 << 10

// warnOfRepository warns that an agent cannot commit in a directory, because its repository is outside of it.
func (a *Run) warnOfRepository(directory string, runner *wire.Runner) {
	repository := repositoryOutside(directory)
	if repository == "" {
		return
	}
	a.Say("maestro: warning: an agent of runner %s cannot `git add` or `git commit` in %s: its repository %s is "+
		"outside of that directory; use the repository's top directory, or a clone, as the --working-directory\n",
		runner.Name, safetext.OneLine(directory), safetext.OneLine(repository))
}

// repositoryOutside returns the repository of a directory if it is outside of it: that of a linked worktree, of a
// submodule, or of a directory above. It is "" if there is none, or if that is not known.
func repositoryOutside(directory string) string {
	directory, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return ""
	}
	for above := directory; ; above = filepath.Dir(above) {
		git := filepath.Join(above, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir() && above == directory:
			return ""
		case err == nil && info.IsDir():
			return git
		case err == nil && info.Size() <= mostGitFile:
			path, names := strings.CutPrefix(gitFile(git), "gitdir: ")
			if !names {
				return ""
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(above, path)
			}
			if files.Within(path, directory) {
				return ""
			}
			return path
		case above == filepath.Dir(above):
			return ""
		}
	}
}

// gitFile returns what a file .git says, "" if it cannot be read.
func gitFile(path string) string {
	f, err := files.OpenNamed(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, mostGitFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
