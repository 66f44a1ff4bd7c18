package service

import (
	"context"

	"maestro/commands"
	"maestro/engine"
)

// checkAfter refuses ?after= for a command that cannot be tried after others, or for one that is to be executed.
func checkAfter(command commands.Command, o Options) error {
	if len(o.After) == 0 {
		return nil
	}
	if _, ok := command.(*commands.CompleteTask); !ok || !o.DryRun {
		return InvalidRequest("", "after is for a dry run of task:complete")
	}
	return commands.CheckCall(1 + len(o.After))
}

// tryAfter tries to complete a task as it would be after the same command for other tasks. It pays for each.
func (s *Service) tryAfter(
	ctx context.Context, c *Caller, request engine.Request, tasks []string,
) (engine.Answer, error) {
	if err := s.payAhead(ctx, c, 1+len(tasks)); err != nil {
		return engine.Answer{}, err
	}
	c.admission.came += 1 + len(tasks)
	before := make([]commands.Command, len(tasks))
	for i, id := range tasks {
		one := *request.Command.(*commands.CompleteTask)
		one.TaskID = id
		before[i] = &one
	}
	return s.try(ctx, c, request, before...)
}
