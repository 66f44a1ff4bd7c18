package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

type inputFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	SessionID string `query:"sessionId" doc:"of this session"`
	Status    string `query:"status" doc:"open, answered, delivered or void"`
}

type inputID struct {
	ID string `path:"id" doc:"the question"`
	// Wait is how long to wait for the answer, as seconds or a duration.
	Wait string `query:"wait" doc:"how long to wait for the answer, such as 25s; at most 25s"`
}

type inboxFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	SessionID string `query:"sessionId" doc:"all that this session did; without it, a session's items are bounded"`
	Kind      string `query:"kind" doc:"only this kind"`
}

func (s *server) inputRoutes() {
	read(s, op{
		path:    "/api/inputs",
		name:    "input-list",
		summary: "The questions that the caller may see, in the order in which they were asked",
	}, listInputs)
	readAfter(s, op{
		path:    "/api/inputs/{id}",
		name:    "input-get",
		summary: "A question, after its answer if that is waited for",
	}, s.awaitAnswer, getInput)
	read(s, op{path: "/api/inbox", name: "inbox", summary: "All that needs a person, longest wait first"}, getInbox)
}

// mayAsk says whether the caller may see a session's questions: its own, an orchestrator those of sessions that it
// spawned.
func (v view) mayAsk(x *projections.Input) error {
	if v.call.by.Kind != commands.ActorSession {
		return v.permit("input:list", x.ProjectID)
	}
	if x.SessionID == v.call.by.Name {
		return v.permit("whoami", x.ProjectID)
	}
	if err := v.permit("input:list", x.ProjectID); err != nil {
		return err
	}
	if v.spawned(x.SessionID) {
		return nil
	}
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    "input:list",
		Message: "Session '" + v.call.by.Name + "' did not spawn session '" + x.SessionID + "'",
		Why:     "an orchestrator sees the questions of sessions that it spawned",
		Next:    "leave it to the user",
	}
}

// spawned reports whether the calling session spawned another.
func (v view) spawned(session string) bool {
	x := v.SessionEver(session)
	return x != nil && x.SpawnedBy == v.call.by.Name
}

func listInputs(v view, in *inputFilter) ([]projections.InputView, error) {
	row := "input:list"
	if v.call.by.Kind == commands.ActorSession && in.SessionID == v.call.by.Name {
		row = "whoami"
	}
	projects, err := v.projects(row, in.ProjectID)
	if err != nil {
		return nil, err
	}
	now := v.server.Now().UnixMilli()
	views := []projections.InputView{}
	for _, p := range projects {
		for x := range v.Inputs(p.ID) {
			shown := v.InputView(x, now)
			if (in.SessionID == "" || in.SessionID == x.SessionID) &&
				(in.Status == "" || in.Status == string(shown.Status)) && v.mayAsk(x) == nil {
				views = append(views, shown)
			}
		}
	}
	return views, nil
}

func getInput(v view, in *inputID) (projections.InputView, error) {
	if err := v.permit("whoami", ""); err != nil {
		return projections.InputView{}, err
	}
	x := v.Input(in.ID)
	if err := v.own("input:list", x != nil && x.SessionID == v.call.by.Name); err != nil {
		return projections.InputView{}, err
	}
	if x == nil {
		return projections.InputView{}, notFound("Question", in.ID)
	}
	return v.InputView(x, v.server.Now().UnixMilli()), v.mayAsk(x)
}

// awaitAnswer waits until a question is no longer open.
func (s *server) awaitAnswer(ctx context.Context, c *call, in *inputID) error {
	wait, err := waitOf(in.Wait)
	if err != nil || wait == 0 {
		return err
	}
	var session string
	s.Handler.View(func(state *projections.State) {
		if x := state.Input(in.ID); x != nil && (view{state, s, c}).mayAsk(x) == nil {
			session = x.SessionID
		}
	})
	if session == "" {
		return nil
	}
	if err := s.waits(ctx, c); err != nil {
		return err
	}
	return s.await(ctx, c, wait, func(state *projections.State) bool {
		return state.InputStatus(state.Input(in.ID)) != projections.InputOpen
	}, engine.Key{Kind: projections.KindInput, ID: in.ID}, engine.Key{Kind: projections.KindSession, ID: session})
}

// waitOf reads how long a caller wants to wait.
func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, routeInvalid("", "wait must be a duration such as 25s, not '"+printable(text)+"'")
	}
	return min(wait, waitLongest), nil
}

func getInbox(v view, in *inboxFilter) ([]projections.InboxItem, error) {
	projects, err := v.projects("inbox", in.ProjectID)
	if err != nil {
		return nil, err
	}
	var concerns func(string) bool
	if v.call.by.Kind == commands.ActorSession {
		concerns = v.spawned
	}
	now := v.server.Now().UnixMilli()
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
	items = append(items, v.refusedKept(projects, concerns)...)
	return sortedInbox(items, in.Kind, now), nil
}

const (
	// refusedOfOne is how many refused commands of a session the inbox lists one by one, and refusedListed of all
	// sessions.
	refusedOfOne  = 20
	refusedListed = 500
)

// refusedKept gives the commands that had waited in an outbox and were refused: the newest of each session, and how
// many there are beside.
func (v view) refusedKept(projects []*projections.Project, concerns func(string) bool) []projections.InboxItem {
	if v.server.Denials == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range projects {
		seen[p.ID] = true
	}
	listed, more := map[string]int{}, map[string]*projections.InboxItem{}
	left := map[string]int{}
	var items []projections.InboxItem
	denials := v.server.Denials.List(func(d *engine.Denial) bool {
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
		if !d.More && listed[session] < refusedOfOne && len(items) < refusedListed {
			listed[session]++
			item.Message = d.Command + " " + quoted(d.Text) + " was kept and then refused: " + d.Message
			items = append(items, item)
			continue
		}
		left[session] += d.Count
		if more[session] == nil {
			item.EntryID = ""
			more[session] = &item
		}
		more[session].Since = d.First
	}
	slices.Reverse(items)
	for _, session := range slices.Sorted(maps.Keys(more)) {
		item := more[session]
		item.More = left[session]
		item.Message = fmt.Sprintf("%d more kept commands were refused", item.More)
		items = append(items, *item)
	}
	return items
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "“" + text + "”"
}
