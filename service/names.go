package service

import (
	"maestro/projections"
)

// namesMost is how many sessions and tasks an answer names beside their ids: those that come first.
const namesMost = 40

// names returns the names of sessions and the titles of tasks that the caller may see, by id. The sessions may be given
// as sources of events; anything else has no name.
func (v View) names(ids ...string) map[string]string {
	ids = ids[:min(len(ids), 2*namesMost)]
	v.Worked(len(ids))
	names := map[string]string{}
	type right struct{ row, project string }
	permitted := map[right]bool{}
	may := func(row, project string) bool {
		if _, known := permitted[right{row, project}]; !known {
			permitted[right{row, project}] = v.Permit(row, project) == nil
		}
		return permitted[right{row, project}]
	}
	for _, id := range ids {
		if _, session, ok := projections.SessionOfSource(id); ok {
			id = session
		}
		if id == "" || names[id] != "" || len(names) == namesMost {
			continue
		}
		if x := v.Session(id); x != nil && x.Name != "" && may("session:info", x.ProjectID) {
			names[id] = x.Name
		}
		if t := v.TaskEver(id); t != nil && may("task:get", t.ProjectID) { // a deleted one keeps its title
			names[id] = t.Title
		}
	}
	return names
}

// namesIn are the names for a task's view.
func (v View) namesIn(t *projections.TaskView) map[string]string {
	ids := []string{t.SaidBy, t.CreatedBy}
	if t.ParentID != nil {
		ids = append(ids, *t.ParentID)
	}
	if t.Result != nil {
		ids = append(ids, t.Result.By)
	}
	for _, list := range [][]string{t.UnmetDependencies, t.Dependencies, t.SessionIDs} {
		ids = append(ids, list[max(0, len(list)-namesMost/2):]...) // the newest
	}
	return v.names(ids...)
}

// nameOf returns the name of the session that a source of events is, "" for another source; known are those found
// before.
func (r entryReader) nameOf(source string, known map[string]string) string {
	_, session, ok := projections.SessionOfSource(source)
	if !ok {
		return ""
	}
	name, ok := known[session]
	if !ok {
		see := r.service.Handler.View
		if r.caller.past != nil {
			see = r.caller.past.View
		}
		see(func(state *projections.State) {
			v := r.service.At(state, r.caller)
			v.past = r.caller.past != nil
			name = v.names(session)[session]
		})
		known[session] = name
	}
	return name
}
