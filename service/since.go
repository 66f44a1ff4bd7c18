package service

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// changed collects the objects that the events of a range of the log changed.
type changed struct {
	// seen are the projects that count; all says that objects outside projects count too.
	seen map[string]bool
	all  bool
	// describe says what an event decided, as the caller may read it.
	describe                func(events.Data) events.Description
	events                  int
	tasks, sessions, queues map[string]*wire.SinceThing
}

// Since returns what changed since a sequence or a time, starting with what needs a person's attention. Its work grows
// with the log.
func (s *Service) Since(ctx context.Context, c *Caller, in *wire.SinceQuery) (told wire.Since, err error) {
	err = s.readingLog(ctx, c, "since", func(ctx context.Context) error {
		told, err = s.since(ctx, c, in)
		return err
	})
	return told, err
}

func (s *Service) since(ctx context.Context, c *Caller, in *wire.SinceQuery) (wire.Since, error) {
	var projects *seenProjects
	var to uint64
	err := s.Look(ctx, c, func(v View) (err error) {
		to = v.Head().Sequence
		projects, err = v.PermitProjects("since", in.ProjectID)
		return err
	})
	if err != nil {
		return wire.Since{}, err
	}
	seen := map[string]bool{}
	err = RecoverPart(func() error {
		v := s.later(ctx, c)
		return projects.each(v, func(_ View, p *projections.Project) { seen[p.ID] = true })
	})
	if err != nil {
		return wire.Since{}, err
	}
	from, at, err := s.sequenceSince(in.From, to)
	if err != nil {
		return wire.Since{}, err
	}
	found := &changed{
		seen:     seen,
		all:      c.ReadsAll() && in.ProjectID == "",
		describe: func(data events.Data) events.Description { return s.describe(c, data) },
		tasks:    map[string]*wire.SinceThing{},
		sessions: map[string]*wire.SinceThing{},
		queues:   map[string]*wire.SinceThing{},
	}
	var decoder events.Decoder
	if from < to {
		err = s.logFor(c).Read(ctx, from+1, to, func(m events.Message) error {
			event, err := decoder.Decode(m.Body)
			if err == nil {
				found.add(m.Sequence, event)
			}
			return err
		})
	}
	if err != nil {
		return wire.Since{}, err
	}
	body := wire.Since{From: from, To: to, Events: found.events}
	body.Inbox = []projections.InboxItem{}
	if s.Permit(c, "inbox", in.ProjectID) == nil {
		here := &wire.InboxFilter{ProjectID: in.ProjectID, Sort: byUrgency} // as `maestro inbox` shows it
		if body.Inbox, _, err = s.listInbox(ctx, c, here, "", PageOf{}); err != nil {
			return wire.Since{}, err
		}
	}
	body.Tasks, body.TasksMore = newestFirst(found.tasks)
	body.Sessions, body.SessionsMore = newestFirst(found.sessions)
	body.Queues, body.QueuesMore = newestFirst(found.queues)
	if err := s.stand(ctx, c, &body); err != nil {
		return wire.Since{}, err
	}
	for i := range body.Inbox {
		item := &body.Inbox[i]
		body.Things += item.Things()
		body.New += item.NewThings(at)
		if i >= wire.SinceListed {
			body.InboxMore += item.Things()
		}
	}
	body.Inbox = body.Inbox[:min(len(body.Inbox), wire.SinceListed)]
	if s.Denials != nil {
		if s.Permit(c, "audit:denials", "") == nil {
			body.RefusedNext = "maestro audit denials"
		}
		body.Refused = s.Denials.Count(func(d *engine.Denial) bool {
			return int64(d.Last) >= at && found.sees(d.Project)
		})
	}
	return body, nil
}

// sequenceSince returns the sequence after which the range begins, and its time in milliseconds since 1970.
func (s *Service) sequenceSince(text string, head uint64) (from uint64, at int64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	sequence, moment, err := momentOf("from", text)
	switch {
	case err != nil:
		return 0, 0, err
	case !moment.IsZero():
		at = moment.Add(time.Millisecond - 1).UnixMilli() // times are whole milliseconds, and none is earlier
		return min(s.tape().Before(moment), head), at, nil
	}
	from = min(sequence, head)
	return from, s.timeBehind(from, head), nil
}

// timeBehind returns when the range after a sequence began: at the next event, or right after the last one.
func (s *Service) timeBehind(from, head uint64) int64 {
	switch tape := s.tape(); {
	case from == 0:
		return 0
	case from < head:
		return tape.At(from + 1)
	default:
		return tape.At(head) + 1
	}
}

func (f *changed) sees(project string) bool { return f.all || f.seen[project] }

func (f *changed) add(sequence uint64, e *events.Event) {
	if !f.sees(e.Project) {
		return
	}
	f.events++
	at := e.Time.UnixMilli()
	what := f.describe(e.Data)
	words := ""
	note := func(things map[string]*wire.SinceThing, id, was string) {
		if id == "" {
			return
		}
		thing := things[id]
		if thing == nil {
			thing = &wire.SinceThing{ID: id, Was: was}
			things[id] = thing
		}
		thing.Events++
		if what.Names(id) {
			thing.Last, _ = events.Preview(what.About(id), longestWords)
		} else {
			if words == "" {
				words, _ = events.Preview(what.String(), longestWords)
			}
			thing.Last = words
		}
		thing.Sequence, thing.At = sequence, events.Millis(at)
	}
	// An orchestrator also works in the projects that it created. Those who see only such a project are not told of it.
	of, session, _ := projections.SessionOfSource(e.Source)
	if f.sees(of) {
		note(f.sessions, session, "")
	}
	was := map[string]string{}
	kind, id := e.Data.Aggregate()
	switch d := e.Data.(type) {
	case *events.TaskDeleted: // it is on no timeline
		note(f.tasks, id, "")
		f.tasks[id].Name, f.tasks[id].Is = d.Title, "deleted"
	case *events.TaskUpdated:
		if d.Status != nil {
			was[id] = string(d.Status.From)
		}
	case *events.TaskStatusChanged:
		was[id] = string(d.From)
	case *events.SessionSpawned:
		for _, task := range d.Started {
			was[task] = string(events.TaskTodo)
		}
	}
	for _, task := range projections.TasksOf(e) {
		note(f.tasks, task, was[task])
	}
	switch kind {
	case events.AggregateSession:
		if id != session {
			note(f.sessions, id, "")
		}
	case events.AggregateQueue:
		note(f.queues, id, "")
	}
}

// longestWords bounds the text about an object's last event, in bytes: an event may name a thousand tasks.
const longestWords = 500

// stand fills in the current status of the listed objects, in portions. A deleted object keeps only its last event.
func (s *Service) stand(ctx context.Context, c *Caller, body *wire.Since) error {
	return RecoverPart(func() error {
		at, all := 0, len(body.Tasks)+len(body.Sessions)
		v := s.later(ctx, c)
		v.portions(func(v View, until uint64) (done bool) {
			for ; at < all && v.Steps() < until; at++ {
				if at < len(body.Tasks) {
					v.taskStands(&body.Tasks[at])
				} else {
					v.sessionStands(&body.Sessions[at-len(body.Tasks)])
				}
			}
			return at == all
		})
		return nil
	})
}

func (v View) taskStands(thing *wire.SinceThing) {
	if t := v.Task(thing.ID); t != nil {
		says, _ := v.SessionStatus(t)
		thing.Name, thing.Is, thing.Says = t.Title, string(t.Status), string(says)
	}
}

func (v View) sessionStands(thing *wire.SinceThing) {
	x := v.SessionEver(thing.ID)
	if x == nil {
		return
	}
	thing.Name, thing.Is = x.Name, string(x.Status)
	switch {
	case x.Deleted:
		thing.Is = "deleted"
	case x.Silent():
		thing.Is = wire.StatusLost
	}
}

// newestFirst lists the objects that changed last, and counts the others.
func newestFirst(things map[string]*wire.SinceThing) (listed []wire.SinceThing, more int) {
	list := make([]wire.SinceThing, 0, len(things))
	for _, id := range slices.Sorted(maps.Keys(things)) {
		list = append(list, *things[id])
	}
	slices.SortStableFunc(list, func(a, b wire.SinceThing) int { return cmp.Compare(b.Sequence, a.Sequence) })
	more = max(0, len(list)-wire.SinceListed)
	return slices.Clip(list[:len(list)-more]), more
}
