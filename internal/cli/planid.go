package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// oneOf returns the only task that a text means: as a plan id, or as the beginning of an id, which begins found. It
// fails if there are several, and returns the text itself if there is none.
func (a *Run) oneOf(ctx context.Context, c *client.Client, text string, found []candidate) (string, error) {
	planned, err := a.planned(ctx, c, text)
	if err != nil {
		return "", err
	}
	var others []candidate
	for _, x := range found {
		if !slices.ContainsFunc(planned, func(p candidate) bool { return p.id == x.id }) {
			others = append(others, x)
		}
	}
	switch all := slices.Concat(planned, others); {
	case len(all) == 0:
		return text, a.mistypedPlanID(ctx, c, text)
	case len(all) > 1 && len(planned) == 0:
		return "", ambiguous(text, others)
	case len(all) > 1 && len(others) == 0:
		return "", failure.Usage("%s is the plan id of more than one task", text).
			WithNext("name one, or choose a project with `maestro project use`: %s", namedIDs(all))
	case len(all) > 1:
		return "", failure.Usage("%s is a plan id, and the beginning of another task's id", text).
			WithNext("name one: %s", namedIDs(all))
	case len(planned) == 1 && planned[0].maker != "":
		a.Say("maestro: the plan id %q is that of %s, in a project that session '%s' created\n",
			text, planned[0].id, planned[0].maker)
		return planned[0].id, nil
	default:
		return all[0].id, nil
	}
}

// plansRead is how many tasks are read to find a plan id like a mistyped one.
const plansRead = 200

// mistypedPlanID returns an error if a text is not the plan id of any task of the current project, but like one;
// otherwise nil: the server's answer about the text is clearer.
func (a *Run) mistypedPlanID(ctx context.Context, c *client.Client, text string) error {
	if a.isSession() || strings.HasPrefix(text, "task_") {
		return nil
	}
	project, err := a.project(ctx, "")
	if err != nil || project == "" {
		return nil //nolint:nilerr // without a project, nothing can be suggested
	}
	tasks, err := c.FirstTasks(ctx, wire.TaskFilter{ProjectID: project}, plansRead)
	if err != nil {
		return ctx.Err()
	}
	var plans []string
	near := ""
	for _, t := range tasks {
		if t.PlanID == "" {
			continue
		}
		plans = append(plans, t.PlanID)
		if near == "" && strings.HasPrefix(t.PlanID, text) {
			near = t.PlanID
		}
	}
	if near = cmp.Or(near, safetext.Nearest(text, plans)); near == "" {
		return nil
	}
	return &failure.Error{
		Code:    failure.NotFound,
		Message: "Task with id '" + safetext.Printable(text) + "' not found",
		Why:     "no task of the project has this id or plan id",
		Next:    "did you mean " + near + "? list what exists with `maestro task list`",
	}
}

// ownTask returns the only one of this session's own tasks that is meant.
func (a *Run) ownTask(
	ctx context.Context, c *client.Client, meant func(wire.OwnTask) bool,
) (id string, known bool) {
	me, err := c.Whoami(ctx)
	if err != nil {
		return "", false
	}
	for _, t := range me.Tasks {
		if !meant(t) {
			continue
		}
		if id != "" {
			return "", false
		}
		id = t.ID
	}
	return id, id != ""
}

// planned returns the tasks with a text as their plan id, in the current project if there is one. Those in projects
// that sessions made count for a user only if there are no others.
func (a *Run) planned(ctx context.Context, c *client.Client, text string) ([]candidate, error) {
	project := a.Getenv(wire.EnvProjectID)
	if project == "" && !a.isSession() {
		config, err := readConfig(a.Getenv)
		if err != nil {
			return nil, err
		}
		project = config.Project
	}
	found, err := c.FirstTasks(ctx, wire.TaskFilter{PlanID: text, ProjectID: project}, candidatesMost+1)
	if err != nil {
		a.notLookedUp("taskId", text, err)
		return nil, ctx.Err() // the server's error about the text itself is clearer
	}
	planned := candidates(found, func(t wire.Task) candidate {
		return candidate{id: t.ID, title: "project " + t.ProjectID}
	})
	if project != "" || a.isSession() {
		return planned, nil
	}
	makers := map[string]string{}
	for i, t := range found {
		maker, known := makers[t.ProjectID]
		if !known {
			of, err := c.Project(ctx, t.ProjectID)
			if err != nil {
				return nil, ctx.Err()
			}
			maker = makingSession(of)
			makers[t.ProjectID] = maker
		}
		planned[i].maker = maker
	}
	return noSessions(planned), nil
}

// noSessions returns the candidates that no session made; all of them if there are none.
func noSessions(found []candidate) []candidate {
	var own []candidate
	for _, x := range found {
		if x.maker == "" {
			own = append(own, x)
		}
	}
	if len(own) == 0 {
		return found
	}
	return own
}
