package service

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// ListInbox gives all that needs a person, longest wait first.
func (v View) ListInbox(in *wire.InboxFilter) ([]projections.InboxItem, error) {
	projects, err := v.PermitProjects("inbox", in.ProjectID)
	if err != nil {
		return nil, err
	}
	var concerns func(string) bool
	if v.Caller.By.Kind == commands.ActorSession {
		concerns = v.spawned
	}
	now := v.Service.Now().UnixMilli()
	items := []projections.InboxItem{}
	for _, p := range projects {
		switch {
		case in.SessionID == "":
			items = append(items, v.Inbox(p.ID, concerns)...)
		case v.SessionProject(in.SessionID) == p.ID && (concerns == nil || concerns(in.SessionID)):
			items = append(items, v.InboxOf(in.SessionID)...)
		}
	}
	if only := in.SessionID; only != "" {
		all := concerns
		concerns = func(id string) bool { return id == only && (all == nil || all(id)) }
	}
	ofOne, listed := int(commands.LimitInboxRefused.Value), int(commands.LimitInboxAllRefused.Value)
	if in.SessionID != "" {
		ofOne, listed = math.MaxInt, math.MaxInt
	}
	items = append(items, v.refusedKept(projects, concerns, ofOne, listed)...)
	return sortedInbox(items, in.Kind, now), nil
}

// refusedKept gives the commands that had waited in an outbox and were refused: the newest of each session, at most
// ofOne, and most of all sessions, and how many there are beside.
func (v View) refusedKept(
	projects []*projections.Project, concerns func(string) bool, ofOne, most int,
) []projections.InboxItem {
	if v.Service.Denials == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range projects {
		seen[p.ID] = true
	}
	listed, more := map[string]int{}, map[string]*projections.InboxItem{}
	var items []projections.InboxItem
	denials := v.Service.Denials.List(func(d *engine.Denial) bool {
		project, session, ok := projections.SessionOfSource(d.Actor)
		return d.Kept && ok && seen[project] && v.Session(session) != nil && (concerns == nil || concerns(session))
	})
	for _, d := range slices.Backward(denials) {
		project, session, _ := projections.SessionOfSource(d.Actor)
		item := projections.InboxItem{
			Kind: projections.InboxRefused, ProjectID: project, SessionID: session, EntryID: d.ID,
			What: v.Session(session).Name, Since: d.First,
			Next: "maestro audit denials --actor " + session,
		}
		if !d.More && listed[session] < ofOne && len(items) < most {
			listed[session]++
			item.Message = d.Command + " was kept and then refused: " + d.Message + quoted(d.Text)
			items = append(items, item)
			continue
		}
		if more[session] == nil {
			item.EntryID = ""
			more[session] = &item
		}
		more[session].StandsFor(d.Count, d.Last)
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

// sortedInbox gives the items of a kind, longest wait first.
func sortedInbox(items []projections.InboxItem, kind string, now int64) []projections.InboxItem {
	kept := []projections.InboxItem{}
	for _, item := range items {
		if kind == "" || kind == string(item.Kind) {
			item.Waited = max(0, now-item.Since)
			kept = append(kept, item)
		}
	}
	slices.SortStableFunc(kept, func(a, b projections.InboxItem) int { return cmp.Compare(a.Since, b.Since) })
	return kept
}
