package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/safetext"
)

// Check is what a failure is about.
type Check string

// The checks, in the order in which they are made. The last four are those of an agent's driver and supervisor.
const (
	CheckPaths        Check = "paths"
	CheckWorkspace    Check = "workspace_dir"
	CheckTarget       Check = "target_dir"
	CheckOrchestrator Check = "orchestrator_dir"
	CheckPermissions  Check = "permissions"
	CheckDisk         Check = "disk"
	CheckAgent        Check = "agent"
	CheckHook         Check = "hook"
	CheckSkills       Check = "skills"
	CheckNetwork      Check = "network"
)

// Failure says that a run cannot start. Match it with errors.As.
type Failure struct {
	Check Check
	// Path is the file or directory that it is about; may be empty.
	Path string
	// Message says what is wrong, Fix what the user can do about it.
	Message, Fix string
	Err          error
}

func (f *Failure) Error() string { return f.Message }

func (f *Failure) Unwrap() error { return f.Err }

// Shown returns an error whose *Failure, if it is one, has each of its texts in one line, without characters that act:
// paths in it are the choice of an agent, and could look like another line of the message. Whoever makes failures
// passes them through it.
func Shown(err error) error {
	var failed *Failure
	if errors.As(err, &failed) {
		for _, text := range []*string{&failed.Path, &failed.Message, &failed.Fix} {
			*text = safetext.Visible(*text)
		}
	}
	return err
}

// PermissionError is the failure for a directory that cannot be read and written, even after its permissions were
// changed (docs/spec/001-agent-launch-and-sandbox.md, "Pre-Flight Validation & Setup"): a person has to decide.
type PermissionError struct{ Err error }

func (e *PermissionError) Error() string { return "PermissionError: " + e.Err.Error() }

func (e *PermissionError) Unwrap() error { return e.Err }

// Options are the directories of a run as they are configured.
type Options struct {
	// Workspaces holds the workspace of each session.
	Workspaces, Session string
	// Target is the directory that the agent works on; the workspace if empty.
	Target string
	// Orchestrator is the configured directory; an empty one below the workspace if empty.
	Orchestrator string
	// MaestroHome may be in none of them.
	MaestroHome string
	// UserHome is the user's home directory. The target may not be or hold it, and may not be in one of its hidden
	// directories or in a directory of the system. If it is "", a person has chosen the target, which may be any.
	UserHome string
	// Within are directories out of which no link in the target's path may lead: the target is the choice of an agent
	// that can write there. There are none if a person chose it.
	Within []string
	// FixPermissions allows changes of the target's permissions.
	FixPermissions bool
	// Command is the command of maestro that runs, such as "worker init": advice names its flags.
	Command string
	// Room is how many bytes must be free.
	Room uint64
}

// Dirs are the directories of a run (docs/spec/001-agent-launch-and-sandbox.md, "Directory Definitions"): absolute,
// without links.
type Dirs struct {
	Workspace, Target, Orchestrator string
	// ReadOnly says that the agent may only read the orchestrator's directory: it is not what the agent works on.
	ReadOnly bool
}

// The modes of new directories, and of those whose permissions are corrected.
const (
	ownMode   = 0o700
	fixedMode = 0o755
)

// Prepare makes the checks in the order of docs/spec/001-agent-launch-and-sandbox.md, "Pre-Flight Validation & Setup":
// existence, access, chmod as a fallback, absolute paths. It creates the workspace if it is missing, and returns the
// directories or a *Failure.
//
// A path is resolved once, and where it leads is judged before anything is changed there. From then on no link is
// followed: an agent could change what a path means meanwhile.
func Prepare(o Options) (Dirs, error) {
	d, err := prepare(o)
	return d, Shown(err)
}

func prepare(o Options) (Dirs, error) {
	d, err := placed(o)
	if err != nil {
		return Dirs{}, err
	}
	if err := roomy(o, d); err != nil {
		return Dirs{}, err
	}
	workspace, err := holdWorkspace(d.Workspace)
	if err != nil {
		return Dirs{}, err
	}
	defer workspace.close()
	if err := accessible(d.Workspace, workspace.path(), CheckWorkspace, true, ""); err != nil {
		return Dirs{}, err
	}
	if d.Target != d.Workspace {
		if err := prepareTarget(o, d.Target); err != nil {
			return Dirs{}, err
		}
	}
	if o.Orchestrator == "" {
		if err := ownDirIn(workspace.path(), orchestratorDir); err != nil {
			return Dirs{}, &Failure{
				Check:   CheckOrchestrator,
				Path:    d.Orchestrator,
				Message: "The orchestrator's directory cannot be created: " + files.Bare(err).Error(),
				Fix:     "remove what is at this path",
				Err:     err,
			}
		}
	}
	d.ReadOnly = d.Orchestrator != d.Target
	return d, nil
}

// prepareTarget checks that a target that has been judged can be read and written.
func prepareTarget(o Options, target string) error {
	held, err := hold(target)
	if err != nil {
		return &Failure{
			Check:   CheckTarget,
			Path:    target,
			Message: "The working directory " + target + " changed while it was checked: " + files.Bare(err).Error(),
			Fix:     "look at what is at this path, and try again",
			Err:     err,
		}
	}
	defer held.close()
	return accessible(target, held.path(), CheckTarget, o.FixPermissions, o.fixedWith())
}

// holdWorkspace opens the workspace, and creates it if it is missing.
func holdWorkspace(path string) (*held, error) {
	err := os.MkdirAll(filepath.Dir(path), ownMode)
	var above, workspace *held
	if err == nil {
		above, err = hold(filepath.Dir(path))
	}
	if err == nil {
		defer above.close()
		err = os.Mkdir(filepath.Join(above.path(), filepath.Base(path)), ownMode)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err == nil {
		workspace, err = hold(path)
	}
	if err == nil {
		return workspace, nil
	}
	return nil, &Failure{
		Check:   CheckWorkspace,
		Path:    path,
		Message: "The workspace " + path + " cannot be created: " + files.Bare(err).Error(),
		Fix: "remove what is there if it is not a directory, make the directory above it writable, or name another " +
			"one with MAESTRO_WORKSPACE",
		Err: err,
	}
}

// Target makes those checks of Prepare that say, before there is a run, whether an agent may work in o.Target: they
// change nothing. It leaves out the access, which Prepare may correct, and the room. A failure is a *Failure.
func Target(o Options) error {
	if o.Target == "" {
		return nil
	}
	target, err := Absolute(o.Target)
	if err == nil {
		_, err = suitable(o, target, "")
	}
	return Shown(err)
}

// orchestratorDir is the orchestrator's directory in a workspace.
const orchestratorDir = ".orchestrator"

// OwnDir makes a directory in a workspace, in which the agent of an earlier run may have left something else with that
// name: that is removed. It follows no link.
func OwnDir(workspace *disk.Root, name string) error {
	info, err := workspace.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return nil
	default:
		if err := workspace.Remove(name); err != nil {
			return err
		}
	}
	return workspace.Mkdir(name, ownMode)
}

func ownDirIn(workspace, name string) error {
	root, err := disk.OpenRoot(workspace)
	if err != nil {
		return err
	}
	return errors.Join(OwnDir(root, name), root.Close())
}

// Absolute returns a path as it is meant: ~ is the user's home directory. It fails with a *Failure.
func Absolute(path string) (full string, err error) {
	full = path
	if path == "~" || strings.HasPrefix(path, "~/") {
		var home string
		home, err = os.UserHomeDir()
		full = filepath.Join(home, strings.TrimPrefix(path, "~"))
	}
	if err == nil {
		full, err = filepath.Abs(full)
	}
	if err != nil {
		return "", &Failure{
			Check:   CheckPaths,
			Path:    path,
			Message: "The path " + path + " cannot be made absolute",
			Fix:     "give an absolute path",
			Err:     err,
		}
	}
	return full, nil
}

// placed returns the directories without links. It checks that an agent may have them, and that those exist which
// Prepare does not create; it changes nothing.
func placed(o Options) (d Dirs, err error) {
	for _, path := range []struct{ from, to *string }{
		{&o.Workspaces, &d.Workspace}, {&o.Target, &d.Target}, {&o.Orchestrator, &d.Orchestrator},
	} {
		if *path.from == "" {
			continue
		}
		if *path.to, err = Absolute(*path.from); err != nil {
			return d, err
		}
	}
	// The session's own directory is not resolved: nobody but an agent makes a link of it.
	d.Workspace = filepath.Join(resolved(d.Workspace, false), o.Session)
	if err := within(o.MaestroHome, d.Workspace); err != nil {
		return d, err
	}
	if d.Target == "" {
		d.Target = d.Workspace
	}
	if d.Target, err = suitable(o, d.Target, d.Workspace); err != nil {
		return d, err
	}
	if o.Orchestrator == "" { // it is created once the workspace can be written to
		d.Orchestrator = filepath.Join(d.Workspace, orchestratorDir)
		return d, nil
	}
	real := resolved(d.Orchestrator, false)
	if err := outOfHome(o, real); err != nil {
		return d, err
	}
	err = isDir(d.Orchestrator, real, CheckOrchestrator, "start the server with another --orchestrator-dir")
	d.Orchestrator = real
	return d, err
}

// within refuses a workspace inside Maestro's home, out of which agents are kept.
func within(home, workspace string) error {
	if home == "" || !files.Within(workspace, home) {
		return nil
	}
	return &Failure{
		Check:   CheckWorkspace,
		Path:    workspace,
		Message: "The workspace " + workspace + " is inside Maestro's home, which agents may not read",
		Fix:     "name a directory outside of " + home + " with MAESTRO_WORKSPACE",
	}
}

// named says what a check is about.
func named(check Check) string {
	switch check {
	case CheckWorkspace:
		return "workspace"
	case CheckOrchestrator:
		return "orchestrator's directory"
	case CheckTarget, CheckPaths, CheckPermissions, CheckDisk, CheckAgent, CheckHook, CheckSkills, CheckNetwork:
	}
	return "working directory"
}

// elsewhere is the fix for a target that no agent may have.
const elsewhere = "spawn a session with the directory of a project as its --working-directory"

// outOfHome refuses a directory in Maestro's home.
func outOfHome(o Options, path string) error {
	if o.MaestroHome == "" || !files.Within(path, o.MaestroHome) {
		return nil
	}
	return &Failure{
		Check:   CheckPaths,
		Path:    path,
		Message: "The directory " + path + " is in Maestro's home, which agents may not read",
		Fix:     "use a directory outside of " + o.MaestroHome,
	}
}

// fit refuses a target that is the root of the file system, or in which an agent could become its user.
func fit(o Options, target string) error {
	if target == filepath.Dir(target) {
		return &Failure{
			Check:   CheckTarget,
			Path:    target,
			Message: "The working directory / is the root of the file system, in which an agent may not write",
			Fix:     elsewhere,
		}
	}
	if what := unfit(target, o.UserHome); what != "" {
		return &Failure{
			Check: CheckTarget,
			Path:  target,
			Message: "The working directory " + target + " is " + what +
				": an agent that writes there could become you",
			Fix: elsewhere,
		}
	}
	return nil
}

// systemDirs hold what programs of all users read and run.
var systemDirs = []string{
	"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/sbin", "/sys", "/usr",
}

// unfit says what keeps an agent from working in a directory, "" if nothing does: it could change what its user, or
// another program, runs or trusts.
func unfit(target, home string) string {
	if home == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	rel, err := filepath.Rel(home, target)
	switch {
	case err != nil:
		return ""
	case rel == "." || below(home, target):
		return "your home directory, or holds it"
	case below(target, home):
		if strings.HasPrefix(rel, ".") {
			return "in a hidden directory of your home directory"
		}
		return ""
	}
	for _, dir := range systemDirs {
		if target == dir || below(target, dir) {
			return "a directory of the system"
		}
	}
	return ""
}

// below reports whether a path is below a directory, by their names.
func below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// roomy checks that there is room on the disks.
func roomy(o Options, d Dirs) error {
	for _, path := range []string{d.Workspace, d.Target} {
		if free, known := free(files.Existing(path)); known && free < o.Room {
			return &Failure{
				Check:   CheckDisk,
				Path:    path,
				Message: fmt.Sprintf("Only %d MiB are free on the disk of %s", free>>20, path),
				Fix:     fmt.Sprintf("make room: a run needs at least %d MiB", o.Room>>20),
			}
		}
	}
	return nil
}
