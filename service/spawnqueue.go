package service

import (
	"context"
	"fmt"
	"strings"

	"maestro/commands"
	"maestro/events"
)

// queuesNamed is how many queues a refusal names.
const queuesNamed = 10

// chooseQueue gives a session without tasks the project's only queue, if it names none. An empty queue of its own would
// get no work while items wait in the others.
func (s *Service) chooseQueue(ctx context.Context, c *Caller, x *commands.SpawnSession) error {
	if x.Strategy != events.StrategyQueue || x.Queue != "" || len(x.TaskIDs) > 0 || x.ManifestDigest != "" {
		return nil
	}
	project := cmpOr(x.Project, c.By.Project)
	if s.Permit(c, x.ID(), project) != nil {
		return nil // the decision refuses it, without the names of another project's queues
	}
	var names []string
	more := 0
	err := s.work(ctx, c, func(v View) error {
		for q := range v.Queues(project) {
			v.Worked(1)
			switch {
			case q.SessionID != "":
			case len(names) < queuesNamed:
				names = append(names, q.Name)
			default:
				more++
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(names) == 1:
		x.OnlyQueue = names[0]
	case len(names) > 1:
		choose := "choose one with --queue: " + strings.Join(names, ", ")
		if more > 0 {
			choose += fmt.Sprintf(", or one of %d more", more)
		}
		p := InvalidRequest("/queue", fmt.Sprintf("Name a queue: the project has %d", len(names)+more))
		p.Why, p.Next = "a session without tasks pulls from a queue with work for several", choose
		return p
	}
	return nil
}
