package service

import (
	"slices"
	"strings"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// PermitProject returns a project that the caller may see by a row of the table.
func (v View) PermitProject(row, id string) (*projections.Project, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	p := v.Project(id)
	if p == nil {
		return nil, NotFound("Project", id)
	}
	return p, v.Permit(row, id)
}

// seenProjects searches ids for the projects that a caller may see by a row of the table. If named is not nil, only
// those are meant.
type seenProjects struct {
	row   string
	ids   []string
	named []string
}

// PermitProjects starts to find the projects that the caller may see by a row, or the one that it names. A project that
// does not exist is an error, unless the caller expects an empty list.
func (v View) PermitProjects(row, only string) (*seenProjects, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	switch by := v.Caller.By; {
	case only != "" && v.Project(only) == nil:
		return &seenProjects{row: row}, v.named("Project", only, false)
	case only != "":
		return &seenProjects{row: row, ids: []string{only}}, v.Permit(row, only)
	case by.Access == commands.AccessReadOnly:
		return &seenProjects{row, v.ProjectIDs(), append([]string{}, by.Projects...)}, nil
	}
	return &seenProjects{row: row, ids: v.ProjectIDs()}, nil
}

// meant returns the ids of the projects that may be meant.
func (x *seenProjects) meant() []string {
	if x.named == nil {
		return x.ids
	}
	named := make(map[string]bool, len(x.named))
	for _, id := range x.named {
		named[id] = true
	}
	return slices.DeleteFunc(slices.Clone(x.ids), func(id string) bool { return !named[id] })
}

// each shows the visible projects, in portions. The caller must not hold the state.
func (x *seenProjects) each(v View, see func(v View, p *projections.Project)) error {
	ids := x.meant()
	return v.listing(func(v View, until uint64) (done bool) {
		for len(ids) > 0 && v.Steps() < until {
			p := v.Project(ids[0])
			ids = ids[1:]
			if p != nil && v.Permit(x.row, p.ID) == nil {
				see(v, p)
			}
		}
		return len(ids) == 0
	})
}

// all returns the projects, found in portions. The caller must not hold the state.
func (x *seenProjects) all(v View) (seen []*projections.Project, err error) {
	err = x.each(v, func(_ View, p *projections.Project) { seen = append(seen, p) })
	return seen, err
}

// restOf holds the ids of a list in a project that are still to be examined, and how many more of them the list needs.
type restOf struct {
	project string
	ids     []string
	part    part
}

// ranges returns, for each project, the ids after a cursor.
func (x *seenProjects) ranges(
	v View, asked PageOf, ids func(v View, project string) []string,
) (rest []restOf, err error) {
	err = x.each(v, func(v View, p *projections.Project) {
		if of := ids(v, p.ID); len(of) > 0 {
			rest = append(rest, restOf{p.ID, of, asked.part()})
		}
	})
	return rest, err
}

// eachOf continues with see, one id after the other, until the state has counted so many steps, and reports whether it
// is done. see looks the id up, and returns its place if it is shown: no more of a project than its part is needed.
func eachOf(
	v View, rest *[]restOf, until uint64, see func(project, id string) (order int64, shown bool),
) (done bool) {
	for len(*rest) > 0 && v.Steps() < until {
		of := &(*rest)[0]
		id := of.ids[0]
		of.ids = of.ids[1:]
		order, shown := see(of.project, id)
		if shown && of.part.full(order) || len(of.ids) == 0 {
			*rest = (*rest)[1:]
		}
	}
	return len(*rest) == 0
}

// named refuses a filter that names something that never existed, so that a typo does not produce an empty list.
func (v View) named(kind, id string, ever bool) error {
	if id == "" || ever || v.Caller.UnknownIsEmpty {
		return nil
	}
	return NotFound(kind, id)
}

// namedTask and namedSession are named for a task and a session.
func (v View) namedTask(id string) error { return v.named("Task", id, v.TaskEver(id) != nil) }

func (v View) namedSession(id string) error {
	return v.named("Session", id, v.SessionProject(id) != "")
}

// ListProjects returns the projects that the caller may see. The returned function finds them, and runs without the
// state.
func (v View) ListProjects(in *wire.ProjectFilter) (func() (Page[projections.ProjectView], error), error) {
	projects, err := v.PermitProjects("project:list", "")
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	return func() (Page[projections.ProjectView], error) {
		show := func(v View, _, id string) (view projections.ProjectView, shown bool) {
			p := v.Project(id)
			if p == nil || in.Name != "" && in.Name != p.Name || !strings.HasPrefix(id, in.IDPrefix) ||
				v.Permit(projects.row, id) != nil {
				return view, false
			}
			return v.ProjectView(p), true
		}
		return pageOf(v, asked, []restOf{{ids: projects.meant()}}, show)
	}, err
}

// GetProject returns a project.
func (v View) GetProject(in *wire.ProjectID) (projections.ProjectView, error) {
	p, err := v.PermitProject("project:get", in.ID)
	if err != nil {
		return projections.ProjectView{}, err
	}
	return v.ProjectView(p), nil
}

// GetProjectStatus counts the tasks and sessions of a project by status. The returned function counts them, and runs
// without the state; if there is too much for one read, it says what is not counted.
func (v View) GetProjectStatus(in *wire.ProjectID) (func() (projections.ProjectStatus, error), error) {
	p, err := v.PermitProject("status", in.ID)
	if err != nil {
		return nil, err
	}
	search := v.SearchStatus(p)
	search.Now(v.now().UnixMilli())
	listed := v.Permit("task:list", p.ID) == nil
	inboxNext, confirmNext := "", ""
	if v.Permit("inbox", p.ID) == nil {
		inboxNext = "`maestro inbox`"
	}
	confirm := "`maestro task complete <taskId>`, or `maestro task reopen <taskId>`"
	switch {
	case !v.mayFollow(confirm):
	case v.Caller.By.Kind == commands.ActorSession && inboxNext != "": // other teams confirm their own
		confirmNext = inboxNext + " lists those that are yours to confirm"
	default:
		confirmNext = confirm
	}
	return func() (projections.ProjectStatus, error) {
		held := v.holding(search.Size)
		defer held.free()
		whole, err := v.listingSome(held, func(v View, until uint64) bool { return v.StatusOn(search, until) })
		if !whole {
			search.Stop()
		}
		status := search.Status()
		status.InboxNext, status.ConfirmNext = inboxNext, confirmNext
		if !listed { // a list may omit it; then the counts are all there is to see
			status.ToConfirm, status.Said, status.SaidMore = []projections.TaskReport{}, []projections.TaskReport{}, 0
		}
		if err != nil {
			return status, err
		}
		refused, err := v.refusedIn([]*projections.Project{p}, "") // the inbox lists them too
		for _, item := range refused {
			status.Inbox += item.Things()
		}
		return status, err
	}, nil
}
