package supervisor

import (
	"path/filepath"
	"strings"

	"maestro/internal/files"
)

// gitSettings are what a configuration of git says about other files.
type gitSettings struct {
	// paths are the hooks and further configurations that it names in the target, relative to the target.
	paths []string
	// worktree is where the code of a submodule is, as the configuration names it.
	worktree string
	// perWorktree: git also reads the file config.worktree.
	perWorktree bool
}

// mostIncludes bounds how many configurations are read.
const mostIncludes = 16

// read reads a configuration in the target, and those that it includes from there. It was written before the agent
// could: this looks for what a user configures, and not for tricks.
func (g *guard) read(name string) (all gitSettings) {
	for next := []string{name}; len(next) > 0 && len(all.paths) < mostIncludes; next = next[1:] {
		content, err := files.Read(g.root, next[0], mostConfig)
		if err != nil {
			continue // git does not read it either
		}
		section := ""
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if header, rest, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(header, "[") {
				section, _, _ = strings.Cut(strings.ToLower(strings.TrimPrefix(header, "[")), " ")
				line = strings.TrimSpace(rest)
			}
			key, value, _ := strings.Cut(line, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch section + "." + strings.ToLower(strings.TrimSpace(key)) {
			case "core.hookspath":
				all.paths = append(all.paths, g.relative("", value)) // counts from where git runs
			case "core.worktree":
				all.worktree = value
			case "extensions.worktreeconfig":
				all.perWorktree = strings.ToLower(value) != "false"
			case "include.path", "includeif.path":
				included := g.relative(filepath.Dir(next[0]), value)
				if included != "" {
					all.paths, next = append(all.paths, included), append(next, included)
				}
			}
		}
	}
	return all
}
