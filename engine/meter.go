package engine

import (
	"context"
	"maps"
	"time"

	"maestro/commands"
	"maestro/projections"
)

// Meter is told what the writer does, so that somebody can measure it. Its methods are called on the writer's path:
// they must not block, and must be safe for concurrent use.
type Meter interface {
	// Appended is told that the log took a batch of events, and how long that took.
	Appended(events int, took time.Duration)
	// Waited is told how long a command waited before the writer decided it for the first time.
	Waited(wait time.Duration)
	// Retried is told that a command was recognised as an earlier one, and answered from its event.
	Retried()
}

// metered is Log.Append, measured.
func (h *Handler) metered(d *decided, append func() error) error {
	if h.config.Meter == nil {
		return append()
	}
	begun := h.config.Now()
	err := append()
	if err == nil {
		h.config.Meter.Appended(len(d.messages), h.config.Now().Sub(begun))
	}
	return err
}

// waits notes when a command begins to wait for the writer, and waited that it does no longer.
func (h *Handler) waits(p *pending) {
	if h.config.Meter != nil {
		p.since = h.config.Now()
	}
}

func (h *Handler) waited(batch []*pending) {
	if h.config.Meter == nil || len(batch) == 0 {
		return
	}
	now := h.config.Now()
	for _, p := range batch {
		if !p.since.IsZero() && p.Command != nil {
			h.config.Meter.Waited(now.Sub(p.since))
		}
		p.since = time.Time{} // it may be decided again
	}
}

// retried notes an answer that was given before.
func (h *Handler) retried(a Answer, err error) {
	if h.config.Meter != nil && err == nil && a.Retried {
		h.config.Meter.Retried()
	}
}

// Load is how busy a Handler is.
type Load struct {
	// Waiting is how many commands wait for the writer, InFlight how many callers wait for the answer to theirs.
	Waiting, InFlight int
	// Followers follow the log, Dropped counts those that were too slow.
	Followers int
	Dropped   uint64
}

// Load returns how busy the Handler is now.
func (h *Handler) Load() Load {
	h.mu.RLock()
	l := Load{Followers: h.feed.followers, Dropped: h.feed.dropped.Load()}
	h.mu.RUnlock()
	l.Waiting, l.InFlight = h.queue.len(), int(h.flight.n.Load())
	return l
}

// queuesLooked is how many queues one look at the state visits.
const queuesLooked = 500

// OldestReady returns when the item was pushed that has been startable for the longest, in milliseconds since 1970; 0
// if no item can be started. It looks at the first item of each queue, at a few queues at a time, so that the writer
// never waits long.
func (h *Handler) OldestReady(ctx context.Context) (at int64, err error) {
	var projects []string
	_, err = h.Read(ctx, func(s *projections.State) error {
		for p := range s.Projects() {
			projects = append(projects, p.ID)
		}
		return nil
	})
	for _, project := range projects {
		for from, more := 0, true; more && err == nil; from += queuesLooked {
			_, err = h.Read(ctx, func(s *projections.State) error {
				names := s.QueueNames(project)
				names = names[min(from, len(names)):]
				more = len(names) > queuesLooked
				for _, name := range names[:min(len(names), queuesLooked)] {
					at = older(s, s.Queue(project, name), at)
				}
				return nil
			})
		}
	}
	return at, err
}

// older returns when the first item of a queue that may be started was pushed, if that was earlier than at.
func older(s *projections.State, q *projections.Queue, at int64) int64 {
	if q == nil || s.ReadyItems(q) == 0 {
		return at
	}
	if first, _ := s.Top(q); first != nil && (at == 0 || first.AddedAt < at) {
		return first.AddedAt
	}
	return at
}

// RefusalKind is what refusals are counted by: the row of the permission table that refused, or that of the refused
// command, and the code. Row is "" for a command that the table does not have, so that no caller can make new kinds.
type RefusalKind struct {
	Row  string
	Code commands.Code
}

func kindOfRefusal(d *Denial) RefusalKind {
	for _, id := range []string{d.Rule, d.Command} {
		if row, known := commands.CurrentRules().Row(id); known {
			return RefusalKind{row.ID, d.Code}
		}
	}
	return RefusalKind{Code: d.Code}
}

// Counts returns how many refusals of each kind were recorded, or were to be recorded, since this process began.
func (d *Denials) Counts() map[RefusalKind]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.counts)
}
