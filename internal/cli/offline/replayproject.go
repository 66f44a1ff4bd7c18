package offline

import (
	"errors"
	"slices"
	"strings"

	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
)

// choose leaves of the log of a file what is of the project that --project names, as the file knows it.
func (r *replayed) choose(file string) error {
	if r.options.project == "" {
		return nil
	}
	id, err := projectIn(r.state, file, r.options.project)
	if err != nil {
		if own := (*failure.Error)(nil); errors.As(err, &own) && own.Why == "" {
			own.Why = r.part
		}
		return err
	}
	r.options.project = id
	if r.options.session != "" || r.options.task != "" {
		return nil
	}
	r.story = slices.DeleteFunc(r.story, func(t told) bool { return t.Project != id })
	return nil
}

// projectIn returns the id of the project of a file that a text names: by its id, by its name, that of one that exists
// first, or by the beginning of its id.
func projectIn(state *projections.State, file, text string) (string, error) {
	if state.ProjectEver(text) != nil {
		return text, nil
	}
	var named, gone, begins, all []string
	for _, id := range state.ProjectIDs() {
		p := state.ProjectEver(id)
		all = append(all, id+" ("+safetext.OneLine(p.Name)+")")
		switch {
		case p.Name == text && p.Deleted:
			gone = append(gone, id)
		case p.Name == text:
			named = append(named, id)
		case strings.HasPrefix(id, "proj_"+strings.TrimPrefix(text, "proj_")):
			begins = append(begins, id)
		}
	}
	for _, ids := range [][]string{named, gone, begins} {
		switch len(ids) {
		case 0:
			continue
		case 1:
			return ids[0], nil
		}
		return "", failure.Usage("%s names %s of the file %s", safetext.Quoted(text), cli.Many(len(ids), "project"),
			safetext.Quoted(file)).WithNext("name its id with --project: %s", strings.Join(ids, ", "))
	}
	const most = 10
	refused := &failure.Error{
		Code:    failure.NotFound,
		Message: "There is no project " + safetext.Quoted(text) + " in the file " + safetext.Quoted(file),
		Next:    "leave --project out",
	}
	if len(all) > 0 {
		refused.Next = "name another with --project: " + strings.Join(all[:min(len(all), most)], ", ")
		if len(all) > most {
			refused.Next += " and others"
		}
	}
	return "", refused
}
