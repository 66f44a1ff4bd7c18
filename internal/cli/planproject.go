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
			same, err := i.projectsNamed(ctx, body.Name)
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

// projectsNamed returns the projects that a name can mean, in order of creation.
func (i *applying) projectsNamed(ctx context.Context, name string) ([]wire.Project, error) {
	projects, err := i.client.Projects(ctx, wire.ProjectFilter{Name: name})
	if i.user {
		projects = usersOwn(projects)
	}
	return projects, err
}

// onlyOne returns the project that a plan goes to after the apply created one: of two users who apply plans of one name
// at once, both find the project that was created first, and the other one deletes its own, which is empty.
func (i *applying) onlyOne(ctx context.Context, name, created string) (string, error) {
	projects, err := i.projectsNamed(ctx, name)
	if err != nil || len(projects) == 0 || projects[0].ID == created {
		return created, err
	}
	for _, p := range projects {
		if p.ID != created { // another apply of this user may have deleted it already
			continue
		}
		_, err := i.do(ctx, "project:delete", &commands.DeleteProject{ProjectID: created}, "")
		if err != nil && exitCode(err) != ExitNotFound {
			return "", sameName(name, projects)
		}
	}
	return projects[0].ID, nil
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
