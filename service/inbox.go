package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// ListInbox returns everything that needs a person, longest wait first or by urgency, and the sequence at which it
// began. It reads each project separately, so that the size of one does not affect the others; one that is too large
// hides no other.
func (s *Service) ListInbox(
	ctx context.Context, c *Caller, in *wire.InboxFilter,
) (items []projections.InboxItem, sequence uint64, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	asked, err := c.page()
	if err != nil {
		return nil, 0, err
	}
	switch in.Sort {
	case "":
	case byUrgency:
		asked = PageOf{} // the most urgent may be the newest
	default:
		return nil, 0, Invalid("/sort", "'%s' is not an order of the inbox; it is urgency, or left out",
			safetext.Printable(in.Sort))
	}
	if err := knownKind(in.Kind); err != nil {
		return nil, 0, err
	}
	wait, err := ParseWait(in.Wait)
	if err != nil {
		return nil, 0, err
	}
	if c.past != nil && wait > 0 {
		return nil, 0, waitsInPast()
	}
	items, sequence, err = s.listInbox(ctx, c, in, "", asked)
	if err != nil || len(items) > 0 || wait == 0 {
		return items, sequence, err
	}
	if err := s.beginWait(ctx, c); err != nil {
		return nil, 0, err
	}
	return s.awaitInbox(ctx, c, in, asked, sequence, wait)
}

// CountInbox counts the things that need a person.
func (s *Service) CountInbox(
	ctx context.Context, c *Caller, in *wire.InboxCountFilter,
) (count wire.InboxCount, sequence uint64, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return count, 0, err
	}
	defer leave()
	if err := knownKind(in.Kind); err != nil {
		return count, 0, err
	}
	items, sequence, err := s.listInbox(ctx, c, &wire.InboxFilter{Kind: in.Kind}, in.Except, PageOf{})
	for i := range items {
		count.Things += items[i].Things()
	}
	return count, sequence, err
}

// knownKind refuses a filter for an unknown kind; "" is all kinds.
func knownKind(kind string) error {
	kinds := wire.InboxFilter{}.Kinds()
	if kind == "" || slices.Contains(kinds, kind) {
		return nil
	}
	return Invalid("/kind", "'%s' is not a kind of inbox item; it is one of: %s",
		safetext.Printable(kind), strings.Join(kinds, ", "))
}

const (
	// inboxRests is the minimum time between two reads of a call that waits for the inbox, however much happens
	// meanwhile.
	inboxRests = time.Second
	// inboxIdles is the maximum: some items appear only because time passes.
	inboxIdles = 5 * time.Second
)

// hasMail reports whether mail waits for a calling session.
func (s *Service) hasMail(c *Caller) (has bool) {
	if c.By.Kind != commands.ActorSession {
		return false
	}
	s.Handler.View(func(state *projections.State) { has = len(state.Undelivered(c.By.Name)) > 0 })
	return has
}

// awaitInbox reads again after changes since a sequence, until something needs somebody, there is mail for the calling
// session, or the time is over. Each of these reads is paid for before it begins, by what the caller and its project
// can spare.
func (s *Service) awaitInbox(
	ctx context.Context, c *Caller, in *wire.InboxFilter, asked PageOf, sequence uint64, wait time.Duration,
) (items []projections.InboxItem, _ uint64, err error) {
	a := c.admission
	cost := 1 + a.reads
	rest := func(most time.Duration) error {
		return s.await(ctx, c, most, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
	}
	for until := time.Now().Add(wait); ; {
		left := time.Until(until)
		if left <= 0 || s.hasMail(c) {
			return items, sequence, nil
		}
		err := s.await(ctx, c, min(left, inboxIdles), func(ctx context.Context) error {
			return s.Handler.WaitFor(ctx, sequence+1)
		})
		if err == nil {
			err = rest(min(time.Until(until), inboxRests))
		}
		if err != nil {
			return nil, 0, err
		}
		if after := a.payReads(cost); after > 0 {
			if err := rest(min(time.Until(until), after)); err != nil {
				return nil, 0, err
			}
			continue
		}
		before := a.reads
		items, sequence, err = s.listInbox(ctx, c, in, "", asked)
		cost = 1 + a.reads - before
		a.returnReads()
		if err != nil || len(items) > 0 {
			return items, sequence, err
		}
	}
}

// byUrgency names the order that starts with the items that block a session.
const byUrgency = "urgency"

// listInbox returns the items that a page needs, except those of a project, "" for none.
func (s *Service) listInbox(
	ctx context.Context, c *Caller, in *wire.InboxFilter, except string, asked PageOf,
) (items []projections.InboxItem, sequence uint64, err error) {
	for range ReadTries {
		c.BeginRead()
		items, sequence, err = s.listInboxOnce(ctx, c, in, except, asked)
		if _, several := c.ReadUntil(); err != nil || !several {
			break
		}
	}
	return items, sequence, err
}

func (s *Service) listInboxOnce(
	ctx context.Context, c *Caller, in *wire.InboxFilter, except string, asked PageOf,
) (items []projections.InboxItem, sequence uint64, err error) {
	part := asked.part()
	wanted := projections.InboxPart{Kind: projections.InboxKind(in.Kind), From: part.from, Most: part.left}
	var seen *seenProjects
	err = s.Look(ctx, c, func(v View) (err error) {
		sequence = v.Head().Sequence
		if seen, err = v.PermitProjects("inbox", in.ProjectID); err != nil {
			return err
		}
		return v.namedSession(in.SessionID)
	})
	if err != nil {
		return nil, sequence, err
	}
	err = RecoverPart(func() error {
		v := s.later(ctx, c)
		projects, err := seen.all(v)
		if err != nil {
			return err
		}
		projects = slices.DeleteFunc(projects, func(p *projections.Project) bool { return p.ID == except })
		for _, p := range projects {
			found, unread, err := v.inboxOf(p, in.SessionID, wanted)
			if err != nil {
				return err
			}
			if len(unread) > 0 {
				items = append(items, projections.UnreadInbox(p, unread))
			}
			items = append(items, found...)
		}
		refused, err := v.refusedIn(projects, in.SessionID)
		items = append(items, refused...)
		return err
	})
	if err != nil {
		return nil, sequence, err
	}
	items = sortedInbox(items, in, s.later(ctx, c).now().UnixMilli())
	s.followable(c, items)
	return items, sequence, nil
}

// concerns returns what the caller deals with; nil for everything. An orchestrator deals with the sessions that it
// leads and with the tasks below its own, whoever has them.
func (v View) concerns() projections.InboxScope {
	if v.Caller.By.Kind != commands.ActorSession {
		return nil
	}
	var own []string
	if x := v.Session(v.Caller.By.Name); x != nil && x.Role == events.RoleOrchestrator {
		own = x.TaskIDs
	}
	v.Worked(len(own) / namesPerStep)
	isOwn := v.Within(own)
	return func(session, task string) bool {
		if v.leads(session) {
			return true
		}
		t := v.TaskEver(task)
		return t != nil && t.ParentID != "" && isOwn(t.ParentID)
	}
}

// concernsOf is concerns, restricted to one session if it is named.
func (v View) concernsOf(only string) projections.InboxScope {
	concerns := v.concerns()
	if only == "" {
		return concerns
	}
	return func(session, task string) bool {
		return session == only && (concerns == nil || concerns(session, task))
	}
}

// inboxOf returns what needs a person in a project; if a session is named, everything about that session. It searches
// in portions, so the caller must not hold the state. If there is too much for one list, it returns what it found so
// far, and names what was not read.
func (v View) inboxOf(
	p *projections.Project, only string, part projections.InboxPart,
) (items []projections.InboxItem, unread []string, err error) {
	var search *projections.InboxSearch
	v.again(func(v View) {
		if only == "" || v.SessionProject(only) == p.ID {
			search = v.SearchInbox(p.ID)
		}
	})
	if search == nil {
		return nil, nil, nil
	}
	held := v.holding(search.Size)
	defer held.free()
	on := func(v View, until uint64) (done bool) { return v.SearchOn(search, v.concernsOf(only), until) }
	whole, err := v.listingSome(held, on)
	if err != nil {
		return nil, nil, err
	}
	if !whole {
		unread = search.Stop()
	}
	if err := v.chosen(search, only, part); err != nil {
		return nil, nil, err
	}
	if whole, err = v.listingSome(held, on); !whole {
		search.Stop()
		unread = append(slices.Clip(unread), "further items")
	}
	items = slices.DeleteFunc(search.Items(), func(item projections.InboxItem) bool {
		return item.Kind == projections.InboxExited && v.heardSince(item.SessionID, int64(item.Since))
	})
	return items, unread, err
}

// heardSince reports whether a session called after a time: another command runs in it.
func (v View) heardSince(session string, at int64) bool {
	if v.Service.Leases == nil || v.past {
		return false
	}
	ago, ok := v.Service.Leases.LastHeard(session)
	return ok && v.Service.Now().Add(-ago).UnixMilli() > at
}

// stepsPerFound is the work of choosing among what was found, for each: sorting takes most of it.
const stepsPerFound = 10

// chosen selects what a list needs of what was found. That takes long if much was found: it waits for its turn, and is
// charged as reading is.
func (v View) chosen(search *projections.InboxSearch, only string, part projections.InboxPart) error {
	turn, err := v.Service.Turn(v.ctx, v.Caller)
	if err != nil {
		return err
	}
	defer turn.End()
	v.Caller.chargeSteps(search.Found() * stepsPerFound)
	if only == "" {
		search.Want(part)
	} else {
		search.WantAll(part)
	}
	return nil
}

// sortedInbox returns the items of a kind in the requested order.
func sortedInbox(items []projections.InboxItem, in *wire.InboxFilter, now int64) []projections.InboxItem {
	kept := []projections.InboxItem{}
	for _, item := range items {
		if in.Kind == "" || in.Kind == string(item.Kind) {
			item.Waited = max(0, now-int64(item.Since))
			if item.Order = int64(item.Since); in.Sort == byUrgency {
				item.Order = item.Urgency()
			}
			kept = append(kept, item)
		}
	}
	slices.SortStableFunc(kept, func(a, b projections.InboxItem) int { return cmp.Compare(a.Order, b.Order) })
	return kept
}
