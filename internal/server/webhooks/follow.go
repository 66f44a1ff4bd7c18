package webhooks

import (
	"context"

	"maestro/projections"
)

// follow notes when there are new events.
func (r *receiver) follow(ctx context.Context, news chan<- struct{}) {
	var head uint64
	for r.sender.config.Handler.WaitFor(ctx, head+1) == nil {
		head = r.head()
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

func (r *receiver) head() (head uint64) {
	r.sender.config.Handler.View(func(s *projections.State) { head = s.Head().Sequence })
	return head
}

// mine returns the head for as long as the webhook is what this receiver knows, and 0 afterwards: events after the
// change of a webhook are for the next receiver, or for none.
func (r *receiver) mine() (head uint64) {
	r.sender.config.Handler.View(func(s *projections.State) {
		if x := s.Webhook(r.hook.ID); x != nil && x.Changed == r.hook.Changed {
			head = s.Head().Sequence
		}
	})
	return head
}
