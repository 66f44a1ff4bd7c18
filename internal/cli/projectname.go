package cli

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// namedProjects replaces the names of projects in a flag's value by their ids.
func (a *Run) namedProjects(ctx context.Context, value pflag.Value) error {
	if list, ok := value.(*listValue); ok {
		var ids []string
		for _, text := range list.items() {
			id, err := a.projectNamed(ctx, text)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		list.put(ids)
		return nil
	}
	id, err := a.projectNamed(ctx, value.String())
	if err != nil {
		return err
	}
	return value.Set(id)
}

// namedByEnvironment resolves a user's MAESTRO_PROJECT_ID as --project: it may be a name, or the prefix of an id.
func (a *Run) namedByEnvironment(ctx context.Context) error {
	text := a.Getenv(wire.EnvProjectID)
	if text == "" || madeID().MatchString(text) {
		return nil
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	if exists, _ := idKinds["projectId"].is(ctx, c, text); exists {
		return nil // an id that a client chose comes before a name
	}
	id, err := a.projectNamed(ctx, text)
	if own := (*failure.Error)(nil); errors.As(err, &own) && own.Why == "" {
		own.Why = wire.EnvProjectID + " names it"
	}
	if err == nil && id != text {
		a.Env[wire.EnvProjectID] = id
	}
	return err
}

// clearer adds to the server's error about a missing object what only the command line knows.
func (a *Run) clearer(err error) error {
	var said *client.Error
	err = a.uncredentialed(err)
	if a.isSession() || a.client == nil || !errors.As(err, &said) || said.Status != http.StatusNotFound ||
		a.moment != "" { // the server says what was missing then
		return err
	}
	return a.sayWhoNamesProject(err)
}

// sayWhoNamesProject adds to an error about a missing project what named it, unless an argument or flag did.
func (a *Run) sayWhoNamesProject(err error) error {
	var said *client.Error
	id := a.Getenv(wire.EnvProjectID)
	if id == "" || !errors.As(err, &said) {
		return err
	}
	if missing := said.Missing(); missing == nil || missing.Kind != "Project" || missing.ID != id {
		return err
	}
	from, next := a.projectFrom, "run `maestro project use PROJECT`, or `maestro project use --none`"
	if from == "" {
		from, next = wire.EnvProjectID, "set it to one of `maestro project list`, or unset it"
	}
	return &failure.Error{
		Status:  said.Status,
		Code:    said.Code,
		Message: said.Message,
		Why:     from + " names it",
		Next:    next,
	}
}

// noSuchProject returns the error for a text that is neither a project's name nor the prefix of an id; nil if it is a
// whole id, which a client chose, or may be one.
func (a *Run) noSuchProject(ctx context.Context, text string) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	isID := anyID().MatchString(text)
	if exists, _ := idKinds["projectId"].is(ctx, c, text); isID && exists {
		return nil
	}
	projects, err := c.Projects(ctx, wire.ProjectFilter{})
	if err != nil {
		return err
	}
	near := alikeProjects(text, usersOwn(projects))
	if isID && len(near) == 0 {
		return nil // the server's error about the id is clearer
	}
	refused := &failure.Error{
		Code:    failure.NotFound,
		Message: "There is no project " + strconv.Quote(safetext.OneLine(text)),
		Next:    "see `maestro project list`",
	}
	if len(near) > 0 {
		refused.Next = "did you mean " + namedIDs(candidates(near, ofProject)) + "?"
	}
	return refused
}

// alikeProjects returns the projects whose names contain a text in any case, or else those with the nearest word.
func alikeProjects(text string, projects []wire.Project) (near []wire.Project) {
	text = strings.ToLower(strings.TrimSpace(text))
	having := func(part string) {
		for _, p := range projects {
			if strings.Contains(strings.ToLower(p.Name), part) {
				near = append(near, p)
			}
		}
	}
	if having(text); len(near) > 0 {
		return near
	}
	var words []string
	for _, p := range projects {
		name := strings.ToLower(p.Name)
		words = append(append(words, name), strings.Fields(name)...)
	}
	if nearest := safetext.Nearest(text, words); nearest != "" {
		having(nearest)
	}
	return near
}
