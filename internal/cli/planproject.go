package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"maestro/commands"
	"maestro/service/wire"
)

// createNamed creates a project, with a key that is made of its name: of two applies at once, one creates it and both
// use it. A project that had the key before, and was deleted or renamed since, becomes part of the next key.
func (i *applying) createNamed(ctx context.Context, body *commands.CreateProject) (string, error) {
	key := "plan-project:" + digest(body.Name)
	for {
		answer, err := i.do(ctx, "project:create", body, key)
		if exitCode(err) == ExitConflict { // the key was used with another description
			same, err := i.client.Projects(ctx, wire.ProjectFilter{Name: body.Name})
			if err != nil || len(same) > 0 {
				return firstOf(same), err
			}
			key += ":" + digest(body.Description+"\x00"+body.WorkingDir)
			continue
		}
		if err != nil {
			return "", err
		}
		id, err := made(answer)
		if err != nil || !answer.Retried {
			return id, err
		}
		project, err := i.client.Project(ctx, id)
		if err == nil && project.Name == body.Name {
			return id, nil
		}
		if err != nil && exitCode(err) != ExitNotFound {
			return "", err
		}
		key = "plan-project:" + digest(key+"\x00"+id)
	}
}

func firstOf(projects []wire.Project) string {
	if len(projects) == 0 {
		return ""
	}
	return projects[0].ID
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}
