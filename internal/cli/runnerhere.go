package cli

import (
	"context"
	"errors"
	"maps"

	"maestro/api/client"
	"maestro/events"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/manifest"
	"maestro/workers/supervisor"
)

// runnerHere returns the runner with a name, or any if that is "", that launches agents on this machine as this user:
// one of the home's server. It is nil if there is none, or if another server answers. Agents do not see directories and
// programs as their runner does, so nothing is known for a session.
func (a *Run) runnerHere(ctx context.Context, name string) *wire.Runner {
	if a.isSession() {
		return nil
	}
	c, err := a.Connect(ctx)
	if err != nil || c.Base() != a.homeServer() {
		return nil
	}
	list, err := c.Runners(ctx)
	if err != nil {
		return nil // this caller may not see them
	}
	return list.On(hostname(), name)
}

// RunnerEnviron returns the environment in which the programs of a runner's agents are looked for: the caller's own,
// with the runner's PATH if that is known.
func RunnerEnviron(own map[string]string, r *wire.Runner) (environ []string) {
	env := maps.Clone(own)
	if r != nil && r.SearchPath != "" {
		env["PATH"] = r.SearchPath
	}
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// warnOfMissingAgent warns that the agent of a new session is not installed, if its runner is that of this home's
// server: only then is that known here. The session is spawned all the same, and its run asks.
func (a *Run) warnOfMissingAgent(ctx context.Context, server *client.Client, d *events.SessionSpawned) {
	if d.Runner == "" {
		return
	}
	r := a.runnerHere(ctx, d.Runner)
	if r == nil || r.SearchPath == "" {
		return
	}
	name, driver, err := a.driverOf(ctx, server, d)
	if err != nil {
		return // the run says what is wrong with the configuration or the manifest
	}
	for _, fault := range driver.Check(ctx, RunnerEnviron(a.Env, r), notRun) {
		if fault.ID == agent.FindingMissing {
			a.Say("maestro: warning: agent %s cannot start on this machine: %s; %s, and answer what the run asks in "+
				"`maestro inbox`\n", name, fault.Message, fault.Fix)
		}
	}
}

// notRun runs no program: whether one is there shows without that.
func notRun(context.Context, string, []string, []string) ([]byte, error) {
	return nil, errors.New("no program is run")
}

// driverOf returns the agent of a new session, as its runner chooses it.
func (a *Run) driverOf(
	ctx context.Context, server *client.Client, d *events.SessionSpawned,
) (name string, driver agent.Driver, err error) {
	content, err := server.SessionManifest(ctx, d.SessionID)
	if err != nil {
		return "", nil, err
	}
	m, err := manifest.ParseChecked(content)
	if err != nil {
		return "", nil, err
	}
	name = supervisor.AgentOf(d.Agent, m)
	h, err := a.existingHome()
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = h.Close() }()
	configured, err := supervisor.AgentsOf(h)
	if err != nil {
		return "", nil, err
	}
	driver, err = configured.Driver(name)
	return name, driver, err
}
