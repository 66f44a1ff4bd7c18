package service

import (
	"cmp"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// newestLooked is how far back the newest entries of a timeline are searched.
const newestLooked = 1000

// PermitSession returns a session that the caller may see by a row of the table.
func (v View) PermitSession(row, id string) (*projections.Session, error) {
	if v.Caller.By.Kind == commands.ActorRunner {
		return v.assigned(row, id)
	}
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if err := v.Own(row, id == v.Caller.By.Name); err != nil {
		return nil, err
	}
	x := v.Session(id)
	if x == nil {
		return nil, NotFound("Session", id)
	}
	return x, v.Permit(row, x.ProjectID)
}

// ShownSession holds what is needed to show a session after the state is released.
type ShownSession struct {
	Session  *projections.Session
	Timeline projections.Timeline
	// Heard is when it last called, in milliseconds since 1970; 0 if only its events show that.
	Heard int64
	// Exit is the entry for the end of its command; nil if it was heard since, or has run none.
	Exit *projections.Entry
	// redacted says that its manifest was redacted; nil if it was not.
	redacted *projections.RedactionView
	// names are the names of what it mentions.
	names map[string]string
	// mail says that the caller may read the session's mail.
	mail   bool
	reader entryReader
}

// Shown returns what is needed to show a session after the state is released.
func (v View) Shown(x *projections.Session) ShownSession {
	return ShownSession{
		Session:  x,
		Timeline: v.SessionTimeline(x.ID),
		Heard:    v.heardAt(x),
		Exit:     v.Exit(x),
		redacted: v.RedactionView(x.ManifestDigest),
		mail:     v.Caller.readsMail(x),
		reader:   v.entryReader(),
	}
}

// heardAt returns when a living session last called this server, in milliseconds since 1970; 0 if it has not called
// yet.
func (v View) heardAt(x *projections.Session) int64 {
	s := v.Service
	if s.Leases == nil || x.Ended() || v.past { // the log does not say when a session called
		return 0
	}
	ago, ok := s.Leases.LastHeard(x.ID)
	if !ok {
		return 0
	}
	return s.Now().Add(-ago).UnixMilli()
}

// SeenBy returns the session as a caller sees it.
func (x ShownSession) SeenBy(c *Caller) wire.Session {
	view := x.Session.View()
	view.ManifestRedacted = x.redacted
	view.LastHeard = events.Millis(x.Heard)
	if view.Status != events.SessionSpawning { // until then its activity is what others did to it
		view.LastHeard = max(view.LastHeard, view.LastActivity)
	}
	view.Names = x.names
	if x.Exit != nil {
		at := events.Millis(x.Exit.At)
		view.ExitedAt, view.ExitCode = &at, x.Exit.ShownExitCode()
	}
	if p := view.Permissions; p != nil {
		view.Permissions = &events.Permissions{
			Commands: commands.CurrentRules().Offered(p.Commands),
			Explicit: p.Explicit,
		}
	}
	if !c.SeesEnv(x.Session) {
		view.Env = map[string]string{}
	}
	return view
}

// Entries returns at most limit entries with texts, or without if bare, oldest first; all if limit is 0.
func (x ShownSession) Entries(limit int, bare bool) List[wire.Entry] {
	timeline := x.Timeline
	if limit > 0 && len(timeline) > newestLooked {
		timeline = timeline[len(timeline)-newestLooked:]
	}
	return x.reader.entries(newestOf(timeline.Bare(bare), limit), x.Session.ID, x.mail)
}

// ListSessions returns the sessions that the caller may see, in order of creation. The returned function finds them in
// portions, and runs without the state.
func (v View) ListSessions(in *wire.SessionFilter) (func() (List[ShownSession], error), error) {
	projects, err := v.PermitProjects("session:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(v.namedTask(in.TaskID), v.namedSession(in.SpawnedBy)); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	for _, flag := range [][2]string{{"active", in.Active}, {"living", in.Living}, {"brief", in.Brief}} {
		if _, err := isTrue(flag[0], flag[1]); err != nil {
			return nil, err
		}
	}
	filter := sessionFilter{SessionFilter: in}
	if t := v.TaskEver(in.TaskID); t != nil {
		filter.had = t.SessionIDs
	}
	return func() (List[ShownSession], error) { return v.findSessions(projects, asked, &filter) }, nil
}

// findSessions finds sessions in portions.
func (v View) findSessions(
	projects *seenProjects, asked PageOf, filter *sessionFilter,
) (List[ShownSession], error) {
	filter.had = slices.Sorted(slices.Values(filter.had))
	v.Caller.chargeSteps(len(filter.had))
	rest, err := projects.ranges(v, asked, func(v View, project string) []string {
		return v.SessionIDsFrom(project, asked.From)
	})
	if err != nil {
		return List[ShownSession]{}, err
	}
	var found []ShownSession
	err = v.listing(func(v View, until uint64) (done bool) {
		return eachOf(v, &rest, until, func(_, id string) (order int64, shown bool) {
			x := v.Session(id)
			if x == nil || !filter.passes(v, x) {
				return 0, false
			}
			found = append(found, v.Shown(x))
			return x.StartedAt, true
		})
	})
	if err != nil {
		return List[ShownSession]{}, err
	}
	slices.SortStableFunc(found,
		func(a, b ShownSession) int { return int(a.Session.StartedAt - b.Session.StartedAt) })
	return List[ShownSession]{func(yield func(ShownSession) bool) {
		for _, x := range found {
			if filter.Brief == "true" {
				x.Timeline = nil
			}
			if !yield(x) {
				return
			}
		}
	}}, nil
}

// sessionFilter selects the sessions of a list.
type sessionFilter struct {
	*wire.SessionFilter

	// had are the sessions that have or had the requested task, sorted.
	had []string
}

func (f *sessionFilter) passes(v View, x *projections.Session) bool {
	if !f.hasStatus(x) ||
		f.Active == "true" && x.Status == events.SessionSaidDone ||
		f.Living == "true" && x.Ended() ||
		f.SpawnedBy != "" && !v.Leads(f.SpawnedBy, x) ||
		f.Name != "" && f.Name != x.Name ||
		!strings.HasPrefix(x.ID, f.IDPrefix) {
		return false
	}
	if f.TaskID == "" {
		return true
	}
	if _, had := slices.BinarySearch(f.had, x.ID); !had {
		return false
	}
	v.Worked(len(x.TaskIDs) / namesPerStep)
	return slices.Contains(x.TaskIDs, f.TaskID)
}

func (f *sessionFilter) hasStatus(x *projections.Session) bool {
	if f.Status == wire.StatusLost {
		return x.Silent()
	}
	return f.Status == "" || f.Status == string(x.Status)
}

// GetSession returns a session. The result may be shown after the state is released.
func (v View) GetSession(in *wire.SessionID) (ShownSession, error) {
	x, err := v.PermitSession("session:info", in.ID)
	if err != nil {
		return ShownSession{}, err
	}
	shown := v.Shown(x)
	mentioned := []string{x.SpawnedBy}
	if item := v.Holds(x); item != nil {
		mentioned = append(mentioned, item.TaskID)
	}
	shown.names = v.names(append(mentioned, x.TaskIDs[:min(len(x.TaskIDs), namesMost)]...)...)
	return shown, nil
}
