package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/preflight"
)

// The directories of an agent's own in its workspace: what its driver keeps, and what the agent sees as /tmp.
const (
	stateDir = ".state"
	tempDir  = ".tmp"
)

// makeOwn makes the directories of the agent's own. What else an earlier run left with such a name is removed: a link
// would lead the supervisor, which nothing confines, somewhere else.
func (s *supervisor) makeOwn() error {
	root, err := disk.OpenRoot(s.dirs.Workspace)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only used
	for _, name := range []string{stateDir, tempDir, cacheDir} {
		if err := preflight.OwnDir(root, name); err != nil {
			return fmt.Errorf("make the agent's directories: %w", err)
		}
	}
	return nil
}

// boundary returns what the kernel lets every process of a session reach.
func (s *supervisor) boundary(user string) confine.Policy {
	readOnly := []string{filepath.Join(s.dirs.Workspace, manifestName)}
	if s.dirs.ReadOnly {
		readOnly = append(readOnly, s.dirs.Orchestrator)
	}
	return confine.Policy{
		Home:      user,
		ReadWrite: []string{s.dirs.Workspace},
		ReadOnly:  readOnly,
		Hidden:    []string{s.Home, filepath.Dir(s.dirs.Workspace)},
		Exposed:   []string{s.Program},
		Temp:      filepath.Join(s.dirs.Workspace, tempDir),
		Sockets:   []string{s.socket},
		Network:   s.network,
		Ports:     s.ports,
	}
}

// policy returns what the kernel lets the agent reach.
func (s *supervisor) policy(start *agent.Start) confine.Policy {
	user, _ := os.UserHomeDir() // describe has read it
	p := s.boundary(user)
	p.ReadWrite = append(p.ReadWrite, start.ReadWrite...)
	p.ReadOnly = append(p.ReadOnly, start.ReadOnly...)
	for _, name := range outputsOf(start) { // the agent prints to them through the supervisor
		p.ReadOnly = append(p.ReadOnly, filepath.Join(s.dirs.Workspace, name))
	}
	p.Exposed = append(p.Exposed, start.Path)
	s.reachTarget(&p)
	return p
}

// reachTarget lets a process of the session reach its working directory, as its manifest says.
func (s *supervisor) reachTarget(p *confine.Policy) {
	if s.options.PermissionMode == modeReadOnly {
		p.Reads = append(p.Reads, s.dirs.Target)
	} else {
		p.ReadWrite = append(p.ReadWrite, s.dirs.Target)
		p.ReadOnly = append(p.ReadOnly, s.git.kept...)
	}
}

// programName is what agents call this program: they find it in its own directory, the first one in their PATH.
const programName = "maestro"

// checkProgram checks that agents find this program.
func (s *supervisor) checkProgram(context.Context) error {
	if name := filepath.Base(s.Program); name != programName {
		return &preflight.Failure{
			Check:   preflight.CheckAgent,
			Path:    s.Program,
			Message: "Agents would not find " + programName + ": this program is called " + name,
			Fix:     "rename it to " + programName + ", and run `" + programName + " " + s.command + "` again",
		}
	}
	return nil
}

// checkMode checks that an agent without a hook can be held to the permission mode of its session.
func (s *supervisor) checkMode(context.Context) error {
	name := s.driver.Name()
	switch mode := s.options.PermissionMode; {
	case s.driver.Guarded():
	case mode == modeInteractive:
		return &preflight.Failure{
			Check:   preflight.CheckHook,
			Message: "The agent " + name + " has no hook, so nobody can be asked before it acts",
			Fix:     "spawn the session with another --permission-mode, acceptEdits or readOnly, or with another agent",
		}
	case mode == modeReadOnly && !confine.KeepFiles(s.layers):
		return &preflight.Failure{
			Check:   preflight.CheckHook,
			Message: "Nothing keeps the agent " + name + " from writing: it has no hook, and it is not confined",
			Fix:     "spawn the session with another agent, or on a machine that confines agents",
		}
	}
	return nil
}

// checkGit finds what the agent must not change in the repository of its target. It changes nothing there.
func (s *supervisor) checkGit(ctx context.Context) error {
	s.git, s.gitBefore = gitFound{}, nil
	if err := s.holdTarget(nil); err != nil {
		return err
	}
	if s.GitConfig || s.options.PermissionMode == modeReadOnly || !slices.Contains(s.layers, confine.Namespaces) {
		return nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	root, err := disk.OpenRootItself(s.dirs.Target)
	if err != nil {
		return s.notKept(err)
	}
	if err := s.holdTarget(root); err != nil {
		return err
	}
	looks, cancel := s.lookAtGit(ctx)
	defer cancel()
	git, err := gitFiles(looks, root, user, allowGit(s.command), s.gitRunner(looks, user))
	var before map[string]string
	if err == nil {
		before, err = digestsOf(looks, root, git.kept)
	}
	if err == nil {
		err = fits(git.repositories)
	}
	if err != nil && looks.Err() != nil {
		err = context.Cause(looks)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *preflight.Failure
	if err != nil && !errors.As(err, &failed) {
		return s.notKept(err)
	}
	if err != nil {
		return err
	}
	s.git, s.gitBefore = git, before
	return nil
}

// fits fails if what is to be known of repositories after a launch leaves no room in the state of a run.
func fits(repositories []gitRepository) error {
	const most = home.MaxRun / 2
	content, err := json.Marshal(repositories)
	if err == nil && len(content) > most {
		err = fmt.Errorf("it takes %d bytes to describe its %d repositories, more than %d", len(content),
			len(repositories), most)
	}
	return err
}

// lookAtGitWithin is how long one look at the git of a target may take, before or after a launch: what is there may be
// an agent's.
const lookAtGitWithin = 2 * time.Minute

// lookAtGit bounds a look at the git of the target.
func (s *supervisor) lookAtGit(ctx context.Context) (context.Context, context.CancelFunc) {
	within := cmp.Or(s.gitPatience, lookAtGitWithin)
	return context.WithTimeoutCause(ctx, within, fmt.Errorf("it takes longer than %s to look through it", within))
}

// notKept is the failure for a target in which git's files cannot be kept from an agent.
func (s *supervisor) notKept(err error) error {
	return &preflight.Failure{
		Check: preflight.CheckTarget,
		Path:  s.dirs.Target,
		Message: "The hooks and the configuration of git in " + s.dirs.Target +
			" cannot be kept from an agent: " + files.Bare(err).Error(),
		Fix: "mend that, or " + allowGit(s.command),
		Err: err,
	}
}

// holdTarget holds the target open from now on, and no other one; nil is none. Whatever is undone there is undone in
// what was looked at before the launch: an agent can replace a directory above its target by a link.
func (s *supervisor) holdTarget(root *disk.Root) (err error) {
	if s.target != nil {
		err = s.target.Close()
	}
	s.target, s.targetIs = root, disk.Identity{}
	if root != nil {
		is, failed := root.Identity()
		s.targetIs, err = is, errors.Join(err, failed)
	}
	return err
}

// targetStays fails if the path of the target leads to another directory than the one that was looked at: the launch
// uses the path.
func (s *supervisor) targetStays() error {
	if s.target == nil {
		return nil
	}
	root, err := openTarget(s.target.Name(), s.targetIs)
	if err != nil {
		return fmt.Errorf("the working directory is not the one that was checked: %w", err)
	}
	return root.Close()
}

// openTarget opens a target without following a link, if it is the one with an identity.
func openTarget(path string, is disk.Identity) (*disk.Root, error) {
	root, err := disk.OpenRootItself(path)
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", path, errReplaced, files.Bare(err))
	}
	found, err := root.Identity()
	if err == nil && !found.Is(is) {
		err = fmt.Errorf("%s %w", path, errReplaced)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// allowGit says how the user of a command of maestro lets what it starts change what git runs.
func allowGit(command string) string {
	return "allow changes of git's hooks and configuration with `" + command + " --allow-git-config`"
}

// clearGit removes what the agent left in the repository to lead its user's git to other hooks, and says so on the
// timeline of the session.
func (s *supervisor) clearGit(ctx context.Context) {
	if s.gitBefore == nil {
		return
	}
	s.restoreGit(ctx)
	ctx, cancel := s.lookAtGit(context.WithoutCancel(ctx)) // it is done after whatever ended the agent
	defer cancel()
	now, err := digestsOf(ctx, s.target, s.git.kept)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.blockedGit(s.dirs.Target, "whether the hooks and the configuration of git changed is not known: "+
			files.Bare(err).Error()+": look at them before you use git there")
		return
	}
	changed := slices.DeleteFunc(slices.Clone(s.git.kept), func(path string) bool {
		return now[path] == s.gitBefore[path]
	})
	if len(changed) > 0 {
		s.blockedGit(strings.Join(changed, " "), "this changed while the agent worked: if you did not do that, "+
			"look at it before you use git there")
	}
	s.gitBefore = now
	s.git.kept = slices.DeleteFunc(s.git.kept, func(path string) bool { // its user removed it
		name, err := filepath.Rel(s.target.Name(), path)
		if err == nil {
			_, err = s.target.Lstat(name)
		}
		return err != nil
	})
}

// restoreGit undoes what leads git away from the repositories of the target, and says so. It undoes nothing unless
// checkGit has passed.
func (s *supervisor) restoreGit(ctx context.Context) {
	if s.gitBefore == nil {
		return
	}
	ctx, cancel := s.lookAtGit(context.WithoutCancel(ctx))
	defer cancel()
	undone, err := restoreGit(ctx, s.target, s.git.repositories)
	for _, one := range undone {
		s.blockedGit(one.Path, one.Why)
	}
	if err != nil {
		s.blockedGit(s.dirs.Target, NotRestored(err))
	}
}

// gitRunner returns how git is run to read configurations: in no repository.
func (s *supervisor) gitRunner(ctx context.Context, user string) runGit {
	return func(path string, args []string, input []byte) (out, problems []byte, err error) {
		ctx, cancel := context.WithTimeout(ctx, gitWithin)
		defer cancel()
		var said, complained bytes.Buffer
		cmd := exec.CommandContext(ctx, path)
		cmd.Args = args
		cmd.Dir = string(filepath.Separator)
		cmd.Env = []string{"HOME=" + user, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
		for _, name := range []string{"PATH", "LD_LIBRARY_PATH"} {
			if value, set := os.LookupEnv(name); set {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &said, &complained
		cmd.WaitDelay = time.Second
		err = s.children.Run(cmd)
		return said.Bytes(), complained.Bytes(), err
	}
}

// blockedGit records that the agent reached for what git runs.
func (s *supervisor) blockedGit(paths, reason string) {
	s.Tell("%s: %s.", short(paths), reason)
	if s.records == nil {
		s.found = append(s.found, short(paths)+": "+reason)
	} else {
		s.records.blocked("git", short(paths), reason, false)
	}
}

// ifConfined begins advice about a layer of confinement that a server may have been told not to use.
func (s *supervisor) ifConfined() string {
	if s.command == serves {
		return "start the server without --confine off, "
	}
	return ""
}

// checkNetwork checks that this machine can restrict the network as the manifest says.
func (s *supervisor) checkNetwork(context.Context) (err error) {
	var p confine.Policy
	if p.Network, p.Ports, err = confine.ParseNetwork(s.options.Network); err != nil {
		return fmt.Errorf("the network of the session's manifest: %w", err)
	}
	if !p.Restricts(s.layers) {
		return &preflight.Failure{
			Check:   preflight.CheckNetwork,
			Message: "This machine cannot limit the agent's network to what the session asks for: " + s.options.Network,
			Fix: s.ifConfined() + "run the session on a machine whose `maestro doctor --all` lists that layer, or " +
				"spawn a session with another --network",
		}
	}
	s.network, s.ports = p.Network, p.Ports
	return nil
}
