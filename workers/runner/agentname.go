package runner

import (
	"cmp"
	"context"
	"fmt"

	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/manifest"
	"maestro/workers/supervisor"
)

// agentOf returns the name of the agent of a session: which one auto means, its manifest says.
func (r *Runner) agentOf(ctx context.Context, x wire.RunnerSession) (string, error) {
	if x.Agent != supervisor.AutoAgent {
		return cmp.Or(x.Agent, agent.Claude), nil
	}
	content, err := r.Server.SessionManifest(ctx, x.ID)
	if err != nil {
		return "", fmt.Errorf("find out which agent auto means: %w", err)
	}
	m, err := manifest.ParseChecked(content)
	if err != nil {
		return x.Agent, nil //nolint:nilerr // the supervisor says what is wrong with the manifest
	}
	return supervisor.AgentOf(x.Agent, m), nil
}
