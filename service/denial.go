package service

import (
	"strings"

	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// ListDenials returns a page of the recorded refusals, oldest first. Without pages, a limit selects the newest. The
// returned function reads them, and may run without the state.
func (v View) ListDenials(in *wire.DenialFilter) (func() (Page[engine.Denial], error), error) {
	if err := v.Permit("audit:denials", in.Project); err != nil { // before any error of the parameters
		return nil, err
	}
	if err := v.named("Project", in.Project, v.Project(in.Project) != nil); err != nil {
		return nil, err
	}
	asked, err := ReadPage(in.Limit, in.Cursor)
	return func() (Page[engine.Denial], error) {
		page := v.denials(in, asked)
		v.again(func(v View) {
			for i := range page.Items {
				if _, session, ok := projections.SessionOfSource(page.Items[i].Actor); ok {
					page.Items[i].ActorName = v.names(session)[session]
				}
			}
		})
		return page, nil
	}, err
}

func (v View) denials(in *wire.DenialFilter, asked PageOf) Page[engine.Denial] {
	page := Page[engine.Denial]{Items: []engine.Denial{}}
	if v.Service.Denials == nil {
		return page
	}
	wanted := func(d *engine.Denial) bool {
		named := in.Actor == "" || in.Actor == d.Actor || strings.HasSuffix(d.Actor, "/"+in.Actor)
		return named && (in.Project == "" || in.Project == d.Project) &&
			(in.Command == "" || in.Command == d.Command) && (in.Code == "" || in.Code == string(d.Code))
	}
	if in.Limit != "" && !v.Caller.Paged {
		page.Items = v.Service.Denials.Newest(asked.Limit, wanted)
		return page
	}
	var more bool
	after := uint64(max(asked.From, 0))
	if page.Items, more = v.Service.Denials.Page(after, asked.Limit, wanted); more {
		page.Next = cursor{place: place{order: int64(page.Items[asked.Limit-1].Number)}}.String()
	}
	return page
}
