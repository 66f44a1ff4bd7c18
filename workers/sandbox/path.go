package sandbox

import (
	"path"
	"slices"
	"strings"
)

// act is what a command does to a path.
type act string

const (
	writes  act = "writes to"
	deletes act = "deletes"
	moves   act = "moves"
	alters  act = "changes the mode, owner or attributes of"
	links   act = "links to"
)

const tmp = "/tmp"

// dir returns the working directory, if it is known.
func (e *env) dir() string {
	if len(e.dirs) == 1 {
		return e.dirs[0]
	}
	return unknown
}

// absolutes returns the cleaned absolute paths that a path may be.
func (e *env) absolutes(p string) (paths []string) {
	if strings.HasPrefix(p, "/") {
		return []string{path.Clean(p)}
	}
	for _, dir := range e.dirs {
		paths = append(paths, path.Clean(dir+"/"+p))
	}
	return paths
}

func inside(p, dir string) bool {
	return dir != "" && (p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/"))
}

func (j *judge) isAllowed(p string) bool {
	return (inside(p, j.dirs.Workspace) || inside(p, j.dirs.Target) || inside(p, tmp)) && !inside(p, j.dirs.MaestroHome)
}

// change judges a change of a path.
func (j *judge) change(e *env, by, p string, how act) {
	if p == "" || j.verdict != nil {
		return
	}
	if j.elsewhere > 0 {
		if clean := path.Clean(plain(p)); how == deletes && (clean == "/" || clean == "/*") {
			j.blocks(RuleOutside, "%s deletes the root directory. Name the directory that you want to remove.", by)
		}
		return
	}
	p = withParents(p)
	for _, abs := range e.absolutes(p) {
		j.changeAt(by, p, abs, how)
	}
}

func (j *judge) changeAt(by, p, abs string, how act) {
	switch {
	case vague(p) || vague(abs):
		j.blocks(RuleUnknown, "%s %s %q, a path that cannot be evaluated. Write the path out.", by, how, shown(p))
	case inside(abs, "/dev"):
		if how != writes || !isSink(abs) {
			j.blocks(RuleRawDisk, "%s %s the device %s. Write to a file in the target instead.", by, how, shown(abs))
		}
	case abs == tmp && (how == deletes || how == moves || how == alters):
		j.blocks(RuleTmp, "%s %s /tmp itself. Name the files below it.", by, how)
	case !j.isAllowed(abs):
		j.blocks(RuleOutside, "%s %s %s, which is outside the workspace, the target and /tmp. Use a path inside them.",
			by, how, shown(abs))
	}
}

// withParents replaces a component such as .* or .?, which may match .., unless it is the last.
func withParents(p string) string {
	if !patterned(p) {
		return p
	}
	parts := strings.Split(p, "/")
	for i, part := range parts[:len(parts)-1] {
		if strings.HasPrefix(part, ".") && patterned(part) && matches(part, "..") {
			parts[i] = ".."
		}
	}
	return strings.Join(parts, "/")
}

func isSink(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin":
		return true
	}
	rest, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// link judges a link at a path that points to another.
func (j *judge) link(e *env, by, at, to string, symbolic bool) {
	j.change(e, by, at, writes)
	if j.elsewhere > 0 || j.verdict != nil {
		return
	}
	if vague(to) {
		j.blocks(RuleUnknown, "%s links to %q, which cannot be evaluated. Write the path out.", by, shown(to))
		return
	}
	from := e
	if symbolic && !strings.HasPrefix(to, "/") {
		from = e.clone()
		from.dirs = nil
		for _, abs := range e.absolutes(at) {
			if !strings.HasSuffix(at, "/") && !slices.Contains(e.dirs, abs) {
				abs = path.Dir(abs)
			}
			from.dirs = append(from.dirs, abs)
		}
	}
	for _, abs := range from.absolutes(to) {
		if !j.isAllowed(abs) && abs != "/dev/null" {
			j.blocks(RuleLink, "%s makes a link to %s, which is outside the workspace, the target and /tmp. "+
				"Copy the file instead.", by, shown(abs))
		}
	}
}

// read judges that a path is read.
func (j *judge) read(e *env, by, p string) {
	home := j.dirs.MaestroHome
	if home == "" || j.verdict != nil || j.elsewhere > 0 {
		return
	}
	if before, _, found := strings.Cut(p, unknown); found {
		p = before[:strings.LastIndexByte(before, '/')+1]
	}
	if p == "" && !slices.ContainsFunc(e.dirs, func(dir string) bool { return inside(dir, home) }) {
		return
	}
	for _, abs := range e.absolutes(p) {
		if inside(abs, home) || patterned(abs) && mayLead(abs, home) {
			j.blocks(RuleMaestro, "%s reads %s, which belongs to Maestro. Ask with `maestro` commands instead.",
				by, shown(abs))
		}
	}
}

// mayLead reports whether a pattern may match a directory or what is below it.
func mayLead(pattern, dir string) bool {
	parts := strings.Split(pattern, "/")
	for i, name := range strings.Split(dir, "/") {
		if i >= len(parts) {
			return false
		}
		hidden := strings.HasPrefix(name, ".") && patterned(parts[i]) && !strings.HasPrefix(parts[i], ".")
		if hidden || !matches(parts[i], name) {
			return false
		}
	}
	return true
}
