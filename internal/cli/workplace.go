package cli

import (
	"cmp"
	"context"
	"errors"
	"os"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
)

// unsuitable says why a runner of this machine launches no agent in a directory; nil if it does, or if it is not known
// where its agents work.
func (a *Run) unsuitable(directory string, runner *wire.Runner) *preflight.Failure {
	user, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	h := a.openHome()
	if h == nil {
		return nil
	}
	defer func() { _ = h.Close() }()
	failed, _ := errors.AsType[*preflight.Failure](preflight.Target(preflight.Options{
		Workspaces:  runner.Workspaces,
		Target:      directory,
		MaestroHome: h.Dir(),
		UserHome:    user,
	}))
	return failed
}

// warnOfDirectory warns about a project's directory in which this machine's runner launches no agent. It is no error:
// runners elsewhere may have such a directory.
func (a *Run) warnOfDirectory(ctx context.Context, directory string) {
	if directory == "" {
		return
	}
	runner := a.runnerHere(ctx, "")
	if runner == nil {
		return
	}
	if failed := a.unsuitable(directory, runner); failed != nil {
		a.Say("maestro: warning: runner %s launches no agent in this directory: %s; %s\n", runner.Name,
			safetext.OneLine(failed.Message), safetext.OneLine(failed.Fix))
	}
}

// refuseDirectory refuses a spawn for this machine's runner if the runner would not launch the agent in the session's
// directory. What the server says about the spawn comes first, and so does that it was done by an earlier try.
func (c *sessionSpawn) refuseDirectory(ctx context.Context, m *manifest.Manifest) error {
	if c.body.Runner == commands.NoRunner {
		return nil
	}
	runner := c.runnerHere(ctx, c.body.Runner)
	if runner == nil {
		return nil
	}
	directory, from, err := c.directory(ctx, m)
	if err != nil || directory == "" {
		return nil //nolint:nilerr // the server says what is wrong with the spawn
	}
	failed := c.unsuitable(directory, runner)
	if failed == nil {
		if c.body.PermissionMode != string(manifest.ReadOnly) {
			c.warnOfRepository(directory, runner)
		}
		return nil
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	answer, err := server.Do(ctx, c.body.ID(), &c.body, client.Options{Key: c.key, DryRun: true})
	if err != nil || answer.Retried {
		return err
	}
	return failure.Usage("%s", safetext.OneLine(failed.Message)).
		WithWhy("runner %s of this machine launches no agent there%s", runner.Name, Prefixed("; ", from)).
		WithNext("%s", safetext.OneLine(failed.Fix))
}

// directory returns where the runner launches the agent of a spawn, "" for its workspace, and says what names it,
// unless that is a flag.
func (c *sessionSpawn) directory(ctx context.Context, m *manifest.Manifest) (directory, from string, err error) {
	if c.body.WorkingDirectory != "" {
		return c.body.WorkingDirectory, "", nil
	}
	if m != nil && m.Session.WorkingDirectory != "" {
		return m.Session.WorkingDirectory, "the manifest names it", nil
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return "", "", err
	}
	project := c.body.Project
	if like := c.body.Like; like != nil {
		if m, err = manifestAs(ctx, server, *like); err != nil {
			return "", "", err
		}
		if m != nil && m.Session.WorkingDirectory != "" {
			return m.Session.WorkingDirectory, "session " + *like + " has it", nil
		}
		x, err := server.Session(ctx, *like)
		if err != nil {
			return "", "", err
		}
		project = cmp.Or(project, x.ProjectID)
	}
	p, err := server.Project(ctx, project)
	return p.WorkingDir, "project " + project + " has it: `maestro project update " + project +
		" --working-dir DIR` names another one", err
}
