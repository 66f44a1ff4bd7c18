package supervisor

import (
	"errors"
	"os"
	"path/filepath"

	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/preflight"
)

// tempDir is the directory in a workspace that an agent sees as /tmp.
const tempDir = ".tmp"

// boundary returns what the kernel lets every process of a session reach.
func (s *supervisor) boundary(user string) confine.Policy {
	return confine.Policy{
		Home:      user,
		ReadWrite: []string{s.dirs.Workspace},
		ReadOnly:  []string{filepath.Join(s.dirs.Workspace, manifestName)},
		Hidden:    []string{s.Home, filepath.Dir(s.dirs.Workspace)},
		Exposed:   []string{s.Program},
		Temp:      filepath.Join(s.dirs.Workspace, tempDir),
		Sockets:   []string{s.socket},
	}
}

// policy returns what the kernel lets the agent reach.
func (s *supervisor) policy(start *agent.Start) confine.Policy {
	user, _ := os.UserHomeDir() // describe has read it
	p := s.boundary(user)
	p.Network, p.Ports = s.network, s.ports
	p.ReadWrite = append(p.ReadWrite, start.ReadWrite...)
	p.ReadOnly = append(p.ReadOnly, start.ReadOnly...)
	p.Exposed = append(p.Exposed, start.Path)
	if s.options.PermissionMode == modeReadOnly {
		p.Exposed = append(p.Exposed, s.dirs.Target) // it may be below a directory that is hidden by default
	} else {
		p.ReadWrite = append(p.ReadWrite, s.dirs.Target)
	}
	return p
}

// checkNetwork checks that this machine can restrict the network as the manifest says.
func (s *supervisor) checkNetwork() (err error) {
	var p confine.Policy
	if p.Network, p.Ports, err = confine.ParseNetwork(s.options.Network); err == nil && !p.Restricts(s.layers) {
		err = errors.New("this machine cannot do that, or --confine off forbids it")
	}
	if err != nil {
		return &preflight.Failure{
			Check:   preflight.CheckNetwork,
			Message: "The agent's network cannot be restricted to " + s.options.Network + ": " + err.Error(),
			Fix:     "run it on a machine that can (see `maestro doctor`), or spawn the session with another --network",
			Err:     err,
		}
	}
	s.network, s.ports = p.Network, p.Ports
	return nil
}
