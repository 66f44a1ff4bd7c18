package preflight

import (
	"path/filepath"

	"maestro/internal/files"
)

// outOfWorkspaces refuses a target that is the directory of all workspaces, which is hidden from each agent but for its
// own workspace. Unless a person has chosen the target, it may also not lie in that directory: there an agent would
// reach what others made. A session may work in its own workspace, and in that of a session above it, which bounds it.
// In a target that holds the directory, the workspaces of others are hidden.
func outOfWorkspaces(o Options, target string) error {
	if o.Workspaces == "" {
		return nil
	}
	root, err := Absolute(o.Workspaces)
	if err != nil {
		return err
	}
	root = resolved(root, false)
	failure := &Failure{
		Check: CheckTarget,
		Path:  target,
		Fix:   elsewhere + ", outside of " + root,
	}
	what := ""
	switch {
	case target == root:
		what = "is the directory of the workspaces of all sessions"
	case o.UserHome == "":
	case o.Session != "" && files.Within(target, filepath.Join(root, o.Session)), bounded(o.Within, root):
	case files.Within(target, root):
		what = "is among the workspaces of other sessions"
		failure.Fix = "copy what you need to a directory outside of " + root + ", and spawn a session with that one " +
			"as its --working-directory"
	}
	if what == "" {
		return nil
	}
	failure.Message = "The working directory " + target + " " + what + ": an agent may use only its own workspace there"
	return failure
}

// bounded reports whether one of these directories is in that of the workspaces.
func bounded(bounds []string, root string) bool {
	for _, bound := range bounds {
		path, err := Absolute(bound)
		if err != nil {
			continue
		}
		if real := resolved(path, false); real != root && files.Within(real, root) {
			return true
		}
	}
	return false
}
