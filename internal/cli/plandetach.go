package cli

import (
	"context"
	"errors"
	"net/http"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/plan"
)

// applyOrDetach applies a task. If what waits for what in the project is in its way, all tasks that the plan has yet to
// apply are detached first, once.
func (i *applying) applyOrDetach(ctx context.Context, p *plan.Plan, n int) error {
	err := i.apply(ctx, &p.Tasks[n])
	if i.dryRun || i.detachedAll || !aboutItsPlace(err) {
		return err
	}
	i.detachedAll = true
	for m := n; m < len(p.Tasks); m++ {
		if err := i.detach(ctx, &p.Tasks[m]); err != nil {
			return err
		}
	}
	return i.apply(ctx, &p.Tasks[n])
}

// aboutItsPlace says whether a task was refused for where it is, or for what it waits for.
func aboutItsPlace(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
		(refused.Pointer == "/dependencies" || refused.Pointer == "/parentId")
}

func (i *applying) detach(ctx context.Context, t *plan.Task) error {
	body, key := i.Detach(t)
	if body == nil {
		return nil
	}
	answer, err := i.do(ctx, "task:update", body, key)
	if err != nil {
		return err
	}
	data, err := dataOf(answer)
	if update, ok := data.(*events.TaskUpdated); ok {
		i.Detached(t, update.Fields())
	}
	return err
}
