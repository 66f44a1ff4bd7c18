package service

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/engine"
	"maestro/workers/manifest"
)

// spawnLike gives a spawn what it takes from the session that it is to be like. One that its caller may not order is
// left to the decision, which refuses it, and so is one that was accepted already, which the decision answers again.
func (s *Service) spawnLike(
	ctx context.Context, c *Caller, x *commands.SpawnSession,
) (spawn *commands.SpawnSession, err error) {
	if x.Like == nil {
		return x, nil
	}
	decided, digest, workingDir := false, "", ""
	err = s.work(ctx, c, func(v View) (err error) {
		project := cmpOr(x.Project, c.By.Project)
		like := v.SessionEver(*x.Like)
		if like != nil {
			project = cmpOr(project, like.ProjectID)
		}
		decided = v.Permit(x.ID(), project) != nil ||
			c.Meta.Key != "" && (engine.Request{By: c.By, Command: x, Key: c.Meta.Key}).Known(v.State)
		if decided {
			return nil
		}
		if _, err = x.Resolved(v.State, c.By); err == nil {
			digest = like.ManifestDigest
			if p := v.Project(like.ProjectID); p != nil {
				workingDir = p.WorkingDir
			}
		}
		return err
	})
	if err != nil || decided {
		return x, err
	}
	filled := x
	if digest != "" {
		m, err := s.manifestLike(ctx, c, *x.Like, digest)
		if err != nil {
			return nil, err
		}
		options := m.Options()
		if options.WorkingDirectory == workingDir {
			options.WorkingDirectory = ""
		}
		filled = x.WithOptions(m.Model(), m.Session.Agent, m.Skills, m.Session.Timeout, options)
	}
	err = s.work(ctx, c, func(v View) (err error) {
		spawn, err = filled.Resolved(v.State, c.By)
		return err
	})
	return spawn, err
}

// inherited gives a spawn what it takes from the session that sends it: the manifest that is generated has it, too.
func (s *Service) inherited(
	ctx context.Context, c *Caller, by commands.Actor, command commands.Command,
) (commands.Command, error) {
	spawn, ok := command.(*commands.SpawnSession)
	if !ok || by.Kind != commands.ActorSession {
		return command, nil
	}
	err := s.work(ctx, c, func(v View) error {
		command = spawn.Inherited(v.State, by)
		return nil
	})
	return command, err
}

// manifestLike reads the manifest of a session that another one is to be like.
func (s *Service) manifestLike(ctx context.Context, c *Caller, session, digest string) (*manifest.Manifest, error) {
	m, _, err := s.parseManifest(ctx, c, func() ([]byte, error) { return s.readBlob(ctx, digest, c.chargedWork) })
	var gone *Problem
	var invalid *manifest.InvalidError
	if errors.As(err, &invalid) || errors.As(err, &gone) && gone.Kind == KindNotFound {
		refused := &commands.Refusal{
			Code:    commands.CodeConflict,
			Pointer: "/like",
			Message: "The manifest of session '" + session + "' is missing or invalid, so its options cannot be copied",
			Next:    "spawn the session without --like, and give it role, strategy and options yourself",
		}
		if redactedText(err) {
			refused.Message = "The manifest of session '" + session + "' was redacted, so its options cannot be copied"
			refused.Why = gone.Why
		}
		return nil, refused
	}
	return m, err
}
