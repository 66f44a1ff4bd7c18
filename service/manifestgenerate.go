package service

import (
	"context"

	"maestro/commands"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// RowOfManifest is the row of the permission table for generating and storing manifests.
const RowOfManifest = "manifest:generate"

// GenerateManifest creates a manifest of tasks as a spawn would, and stores nothing.
func (s *Service) GenerateManifest(ctx context.Context, c *Caller, in *wire.NewManifest) (*manifest.Manifest, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return nil, err
	}
	defer leave()
	from := manifest.Source{Said: manifest.Said(in)}
	if len(in.Context) > 0 {
		given, err := manifest.ParseContext(in.Context)
		if err != nil {
			return nil, invalidManifest(err)
		}
		from.CodebaseContext, from.ProjectStandards = given.CodebaseContext, given.ProjectStandards
		from.Related, from.Custom = given.RelatedTasks, given.Custom
	}
	g := &gathering{from: &from, ids: unique(in.TaskIDs)}
	defer g.free()
	if err := commands.CheckManifestSize(len(g.ids), 0); err != nil {
		return nil, err
	}
	steps, err := s.portion(ctx, c, func(v View) (err error) {
		g.project, err = v.permitGenerate(in.Project, g.ids)
		return err
	})
	if g.looked = steps; err != nil {
		c.worked(steps)
		return nil, err
	}
	if err := s.inheritedBy(ctx, c, g); err != nil {
		return nil, err
	}
	m, err := s.makeManifest(ctx, c, g)
	if err != nil {
		return nil, invalidRequest(err)
	}
	c.worked(len(m.Canonical()) / bytesPerStep)
	return m, nil
}

// inheritedBy gives a manifest the options that a spawn by the same session would have.
func (s *Service) inheritedBy(ctx context.Context, c *Caller, g *gathering) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	return s.work(ctx, c, func(v View) error {
		spawner := v.Session(c.By.Name)
		if spawner == nil {
			return nil
		}
		narrow, said := commands.InheritedOptions(spawner, g.project), &g.from.Said.Session
		if said.PermissionMode == "" {
			said.PermissionMode = manifest.PermissionMode(narrow.PermissionMode)
		}
		said.Network = cmpOr(said.Network, narrow.Network)
		said.WorkingDirectory = cmpOr(said.WorkingDirectory, narrow.WorkingDirectory)
		return nil
	})
}

// permitGenerate checks the permission for the project and for each task, and returns the project: the named one, or
// that of the first task, or the caller's own; "" if there is none.
func (v View) permitGenerate(named string, tasks []string) (project string, err error) {
	const row = RowOfManifest
	if err := v.Permit(row, ""); err != nil {
		return "", err
	}
	project = named
	for _, id := range tasks {
		t, err := v.PermitTask("task:get", id)
		if err != nil {
			return "", err
		}
		project = cmpOr(project, t.ProjectID)
	}
	if project = cmpOr(project, v.Caller.By.Project); project == "" {
		return "", nil
	}
	if v.Project(project) == nil {
		return "", NotFound("Project", project)
	}
	return project, v.Permit(row, project)
}
