package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
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
	if kinds := in.Kinds(); in.Kind != "" && !slices.Contains(kinds, in.Kind) {
		return nil, 0, Invalid("/kind", "'%s' is not a kind of inbox item; it is one of: %s",
			safetext.Printable(in.Kind), strings.Join(kinds, ", "))
	}
	wait, err := ParseWait(in.Wait)
	if err != nil {
		return nil, 0, err
	}
	items, sequence, err = s.listInbox(ctx, c, in, asked)
	if err != nil || len(items) > 0 || wait == 0 {
		return items, sequence, err
	}
	if err := s.beginWait(ctx, c); err != nil {
		return nil, 0, err
	}
	return s.awaitInbox(ctx, c, in, asked, sequence, wait)
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
// session, or the time is over. Each of
// these reads is paid for before it begins, by what the caller and its project can spare.
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
		items, sequence, err = s.listInbox(ctx, c, in, asked)
		cost = 1 + a.reads - before
		a.returnReads()
		if err != nil || len(items) > 0 {
			return items, sequence, err
		}
	}
}

// byUrgency names the order that starts with the items that block a session.
const byUrgency = "urgency"

// listInbox returns the items that a page needs.
func (s *Service) listInbox(
	ctx context.Context, c *Caller, in *wire.InboxFilter, asked PageOf,
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
	items = sortedInbox(items, in, s.Now().UnixMilli())
	s.followable(c, items)
	return items, sequence, nil
}

// concerns returns which sessions' items the caller sees; nil for all.
func (v View) concerns() func(session string) bool {
	if v.Caller.By.Kind == commands.ActorSession {
		return v.spawned
	}
	return nil
}

// concernsOf is concerns, restricted to one session if it is named.
func (v View) concernsOf(only string) func(session string) bool {
	concerns := v.concerns()
	if only == "" {
		return concerns
	}
	return func(id string) bool { return id == only && (concerns == nil || concerns(id)) }
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
	return search.Items(), unread, err
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

// refusedIn returns the refused kept commands of projects; if a session is named, all of that session.
func (v View) refusedIn(projects []*projections.Project, only string) ([]projections.InboxItem, error) {
	if v.Service.Denials == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, p := range projects {
		seen[p.ID] = true
	}
	denials := v.Service.Denials.List(func(d *engine.Denial) bool {
		project, session, ok := projections.SessionOfSource(d.Actor)
		return d.Kept && ok && seen[project] && (only == "" || session == only)
	})
	sessions, err := v.refusedSessions(denials, only)
	if err != nil {
		return nil, err
	}
	denials = slices.DeleteFunc(denials, func(d engine.Denial) bool {
		_, session, _ := projections.SessionOfSource(d.Actor)
		return sessions[session] == nil
	})
	if only != "" {
		return refusedKept(denials, sessions, math.MaxInt, math.MaxInt), nil
	}
	return refusedKept(denials, sessions, int(commands.LimitInboxRefused.Value),
		int(commands.LimitInboxAllRefused.Value)), nil
}

// refusedSessions returns the refused sessions that concern the caller, and nil for the others. It searches in
// portions.
func (v View) refusedSessions(
	denials []engine.Denial, only string,
) (sessions map[string]*projections.Session, err error) {
	sessions = map[string]*projections.Session{}
	return sessions, v.listing(func(v View, until uint64) (done bool) {
		concerns := v.concernsOf(only)
		for len(denials) > 0 && v.Steps() < until {
			_, session, _ := projections.SessionOfSource(denials[0].Actor)
			denials = denials[1:]
			if _, known := sessions[session]; known {
				continue
			}
			sessions[session] = nil
			if x := v.Session(session); x != nil && (concerns == nil || concerns(session)) {
				sessions[session] = x
			}
		}
		return len(denials) == 0
	})
}

// refusedKept reports commands that had waited in an outbox and were refused: the newest of each session, at most
// perSession, and at most most of all sessions, and how many more there are.
func refusedKept(
	denials []engine.Denial, sessions map[string]*projections.Session, perSession, most int,
) []projections.InboxItem {
	listed, more := map[string]int{}, map[string]*projections.InboxItem{}
	var items []projections.InboxItem
	for _, d := range slices.Backward(denials) {
		project, session, _ := projections.SessionOfSource(d.Actor)
		item := projections.InboxItem{
			Kind:        projections.InboxRefused,
			ProjectID:   project,
			SessionID:   session,
			EntryID:     d.ID,
			What:        sessions[session].Name,
			SessionName: sessions[session].Name,
			Since:       d.First,
			Next:        "maestro audit denials --actor " + session,
		}
		if x := sessions[session]; x.Active() { // it can say it again
			item.Next = "maestro session message " + session + ` "…", or ` + item.Next
		}
		if !d.More && listed[session] < perSession && len(items) < most {
			listed[session]++
			item.Message = d.Command + " was kept and then refused: " + d.Message + quoted(d.Text)
			items = append(items, item)
			continue
		}
		if more[session] == nil {
			item.EntryID = ""
			more[session] = &item
		}
		more[session].StandsFor(d.Count, int64(d.Last))
		more[session].Since = d.First
	}
	slices.Reverse(items)
	for _, session := range slices.Sorted(maps.Keys(more)) {
		item := more[session]
		item.Message = fmt.Sprintf("%d more kept commands were refused", item.More)
		items = append(items, *item)
	}
	return items
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return ": “" + text + "”"
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
