package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"maestro/bus"
	"maestro/internal/cli"
	"maestro/internal/files"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/preflight"
	"maestro/workers/supervisor"
)

// machine is what the checks of agents ask of this machine. Tests replace it.
type machine struct {
	// run runs a program of an agent, confined as c says.
	run   func(ctx context.Context, c supervisor.Config, path string, args, env []string) ([]byte, error)
	probe func(ctx context.Context) []confine.Support
	// hook tries the hook of agents; nil where agents cannot run.
	hook func(ctx context.Context) error
	free func(dir string) (bytes uint64, known bool)
}

// thisMachine asks the machine itself.
func thisMachine() machine {
	m := machine{run: runBriefly, probe: probe, free: bus.FreeBytes}
	if runtime.GOOS == "linux" { // only there does a supervisor know which process asks
		m.hook = probeHook
	}
	return m
}

// briefly is how long an agent's program may take to say its version.
const briefly = 10 * time.Second

// runBriefly runs a program of an agent behind the boundary of agents: one of them may have replaced it.
func runBriefly(ctx context.Context, c supervisor.Config, path string, args, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	return supervisor.RunBriefly(ctx, c, path, args, env)
}

// probe tries the layers of confinement with this program.
func probe(ctx context.Context) []confine.Support {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return confine.Probe(ctx, []string{program, wire.ProgramConfined})
}

// probeHook tries the hook with this program, which is the one that agents would run.
func probeHook(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return supervisor.ProbeHook(ctx, program)
}

// lookAtHook looks whether the hook of agents denies what it must deny. The check before a run makes the same probe.
func lookAtHook(ctx context.Context, x *examination) []Finding {
	if x.home == nil || x.machine.hook == nil {
		return nil
	}
	err := x.machine.hook(ctx)
	if err == nil {
		return nil
	}
	what, next := err.Error(), "install maestro again, and run `maestro doctor` once more"
	if failed, ok := errors.AsType[*preflight.Failure](err); ok {
		what, next = failed.Message, failed.Fix
	}
	return []Finding{hookBroken.found(what, "no agent is started then: its tool calls would run without a decision",
		next)}
}

// lookAtAgents looks for what keeps agents from starting: their configuration, their programs and their logins. An
// agent that nobody needs is no fault.
func lookAtAgents(ctx context.Context, x *examination) (found []Finding) {
	if x.home == nil {
		return nil
	}
	configured, err := supervisor.AgentsOf(x.home)
	if err != nil {
		what, why, next := cli.Explain(err)
		if fault, ok := errors.AsType[*agent.ConfigError](err); ok {
			what, next = fault.What(), "in "+fault.File+": "+next
		}
		if next == "" {
			next = "make " + x.home.AgentsPath() + " a file that you can read"
		}
		found = append(found, agentsInvalid.found("agents.json of the home cannot be used: "+what, why, next))
	}
	x.needed = x.neededAgents(ctx, configured)
	environ := x.environ(ctx)
	for _, name := range slices.Sorted(maps.Keys(x.needed)) {
		if _, err := configured.Driver(name); err != nil {
			found = append(found, agentMissing.found(err.Error(), x.needed[name],
				"add it to agents.json of the home; docs/guide/agents.md lists its fields"))
		}
	}
	confined, err := x.confined(ctx)
	if err != nil {
		return append(found, agentUnusable.found("No agent can be asked for its version: "+err.Error(),
			"whether agents can start is not known", "run `maestro doctor` from an installed maestro"))
	}
	run := func(ctx context.Context, path string, args, env []string) ([]byte, error) {
		return x.machine.run(ctx, confined, path, args, env)
	}
	for _, name := range configured.Names() {
		driver, err := configured.Driver(name)
		if err != nil {
			continue // it is in the list, so there is one
		}
		why, needed := x.needed[name]
		faults := driver.Check(ctx, environ, run)
		for _, fault := range faults {
			found = append(found, x.ofAgent(ctx, name, fault, why, needed))
		}
		if len(faults) == 0 {
			found = append(found, agentReady.found("Agent "+name+" is ready",
				"sessions can be spawned with --agent "+name, "no action is needed"))
		}
	}
	return found
}

// launcher returns what the runner inside the home's server says about itself: its agents have its directories and its
// PATH, whatever this shell has. It is nil if no such server answers, or if this caller may not see it.
func (x *examination) launcher(ctx context.Context) *wire.Runner {
	if x.asked || !x.own || !x.admin || x.server == nil {
		return x.runner
	}
	x.asked = true
	list, err := x.server.Runners(ctx)
	if err != nil {
		return nil // the checks of the server say so
	}
	host, _ := os.Hostname()
	x.runner = list.On(host, "")
	return x.runner
}

// environ returns the environment in which agents are looked for: that of this shell, with the server's PATH where that
// is known.
func (x *examination) environ(ctx context.Context) []string {
	return cli.RunnerEnviron(x.Env, x.launcher(ctx))
}

// searched says in whose PATH an agent's program was looked for.
func (x *examination) searched(ctx context.Context) string {
	if r := x.launcher(ctx); r != nil && r.SearchPath != "" {
		return "looked for in the PATH of the running server: " + r.SearchPath
	}
	path := x.Getenv("PATH")
	if path == "" {
		path = "it is not set"
	}
	return "looked for in the PATH of this shell: " + path + "; a server that a service manager starts may have another"
}

// confined says how a program of an agent is confined that is asked for its version.
func (x *examination) confined(ctx context.Context) (c supervisor.Config, err error) {
	if c.Program, err = os.Executable(); err != nil {
		return c, err
	}
	if c.Workspaces, _, err = x.workspacesDir(ctx); err != nil {
		c.Workspaces = "" // the check of the workspaces says so
	}
	var layers []confine.Layer
	for _, support := range x.layers(ctx) {
		if support.Missing == nil {
			layers = append(layers, support.Layer)
		}
	}
	c.Home, c.Layers = x.dir, confine.Names(confine.Policy{}.Layers(layers))
	return c, nil
}

// layers returns which layers of confinement this machine offers. They are tried once.
func (x *examination) layers(ctx context.Context) []confine.Support {
	if !x.probed {
		x.supports, x.probed = x.machine.probe(ctx), true
	}
	return x.supports
}

// neededAgents returns the agents that are configured, or that sessions wait for, and why each is needed.
func (x *examination) neededAgents(ctx context.Context, configured agent.Config) map[string]string {
	needed := map[string]string{}
	for name := range configured.Agents {
		needed[name] = "agents.json of the home configures it"
	}
	if !x.own || x.server == nil || !x.reads {
		return needed
	}
	sessions, err := x.server.Sessions(ctx, wire.SessionFilter{Status: "spawning", Brief: "true"})
	if err != nil {
		return needed // the checks of the server say so
	}
	for _, s := range sessions {
		if s.Runner == "" || s.Runner == wire.TerminalRunner || s.Agent == "auto" {
			continue
		}
		name := s.Agent
		if name == "" {
			name = agent.Claude
		}
		needed[name] = "session " + s.ID + " waits for it"
	}
	return needed
}

// ofAgent is the finding about an agent that cannot start.
func (x *examination) ofAgent(
	ctx context.Context, name string, fault agent.Finding, why string, needed bool,
) Finding {
	kind := agentUnusable
	switch {
	case !needed:
		kind, why = agentUnready, "sessions cannot use it yet, and none waits for it"
	case fault.ID == agent.FindingMissing:
		kind = agentMissing
	case fault.ID == agent.FindingVersion:
		kind = agentOld
	case fault.ID == agent.FindingLogin:
		kind, why = agentLogin, why+"; looked for with the variables of this shell, not with those of the server"
	}
	if fault.ID == agent.FindingMissing && fault.Path == "" {
		why += "; " + x.searched(ctx)
	}
	return kind.found("Agent "+name+": "+strings.TrimSuffix(fault.Message, "."), why, fault.Fix)
}

// lookAtWorkspaces says where agents have their directories, and whether they can. Without agents nobody misses them.
func lookAtWorkspaces(ctx context.Context, x *examination) (found []Finding) {
	if x.home == nil {
		return nil
	}
	const next = "name another directory with MAESTRO_WORKSPACE or `maestro serve --workspaces`"
	dir, whose, err := x.workspacesDir(ctx)
	if err == nil {
		found = append(found, workspaces.found("The workspaces of agents are in "+dir, whose, "no action is needed"))
	}
	if len(x.needed) == 0 {
		return found
	}
	if err != nil {
		return []Finding{workspacesUnusable.found("There is no directory for workspaces: "+err.Error(),
			"no agent can start", next)}
	}
	existing := existingAbove(dir)
	if files.Within(existing, x.dir) {
		return append(found, workspacesUnusable.found("The workspaces "+dir+" are inside the home",
			"agents may not read the home, so none can start; "+whose, next))
	}
	if err := files.Writable(existing); err != nil {
		what, why, _ := cli.Explain(err)
		if why == "" {
			why = "no agent can start"
		}
		return append(found, workspacesUnusable.found("The workspaces "+dir+" cannot be written to: "+what,
			why+"; "+whose, "make it writable, or "+next))
	}
	if free, known := x.machine.free(existing); known && free < supervisor.DefaultRoom {
		return append(found, workspacesFull.found(
			fmt.Sprintf("Only %d MiB are free on the disk of the workspaces %s", free>>20, dir),
			fmt.Sprintf("a run needs %d MiB to start; %s", uint64(supervisor.DefaultRoom)>>20, whose),
			"make room, such as by removing the workspaces of sessions that have ended, or "+next))
	}
	return found
}

// workspacesDir returns where the workspaces of agents are, and who says so.
func (x *examination) workspacesDir(ctx context.Context) (dir, whose string, err error) {
	if x.workspaces != "" {
		dir, err = filepath.Abs(x.workspaces)
		return dir, "--workspaces names this directory", err
	}
	if r := x.launcher(ctx); r != nil {
		return r.Workspaces, "the running server names this directory", nil
	}
	dir, err = supervisor.Workspaces(x.Getenv)
	if x.Getenv(wire.EnvWorkspace) != "" {
		return dir, "MAESTRO_WORKSPACE of this shell names this directory; a server may have another", err
	}
	return dir, "this directory is the default; a server may have another", err
}

// existingAbove returns the nearest directory that exists: the missing ones are created when the first agent starts.
func existingAbove(dir string) string {
	for {
		if _, err := os.Lstat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// lookAtConfinement says which layers confine agents on this machine, and why others are missing. What the running
// server says counts: its flags may give up what the machine offers.
func lookAtConfinement(ctx context.Context, x *examination) (found []Finding) {
	if x.home == nil {
		return nil
	}
	var layers []string
	for _, support := range x.layers(ctx) {
		if support.Missing == nil {
			layers = append(layers, string(support.Layer))
			continue
		}
		found = append(found, layerMissing.found(
			fmt.Sprintf("Layer %s is missing: %s", support.Layer, support.Missing),
			"agents are confined by the others alone", "see docs/security.md for what it would hold; if the reason "+
				"names no remedy, ask whoever set up this system or container to allow it"))
	}
	r := x.launcher(ctx)
	if r != nil && len(r.Layers) == 0 && len(layers) > 0 {
		return append([]Finding{runnerUnconfined.found("Nothing confines the agents of runner "+r.Name+
			" of the running server, although this machine offers "+strings.Join(layers, ", "),
			"an agent can do whatever the server's user can: read that user's token, and act as that user",
			"unless you want that, restart the server without `--confine off`; if it does not have this flag, ask "+
				"whoever set up its service or container what that forbids")}, found...)
	}
	if r != nil && len(r.Layers) > 0 {
		layers = r.Layers
	}
	switch {
	case len(layers) > 0:
		return append([]Finding{confinement.found("Agents are confined by "+strings.Join(layers, ", "),
			"they cannot read the home, write elsewhere or signal others", "no action is needed")}, found...)
	case len(x.needed) > 0:
		return append([]Finding{unconfined.found("Nothing confines agents on this system",
			"an agent can do whatever you can: read your token, and act as you",
			"run the server on Linux 6.2 or later, outside of a container that forbids Landlock and namespaces")},
			found...)
	}
	return append([]Finding{confinement.found("Nothing would confine agents on this system",
		"an agent could do whatever you can", "run agents on Linux 6.2 or later")}, found...)
}
