package service

import (
	"strings"

	"maestro/engine"
	"maestro/service/wire"
)

// ListDenials gives a page of the recorded refusals, oldest first. To who takes no pages, a limit alone gives the
// newest.
func (v View) ListDenials(in *wire.DenialFilter) (Page[engine.Denial], error) {
	page := Page[engine.Denial]{Items: []engine.Denial{}}
	if err := v.Permit("audit:denials", in.Project); err != nil { // before what is wrong with the parameters
		return page, err
	}
	asked, err := ReadPage(in.Limit, in.Cursor)
	if err != nil || v.Service.Denials == nil {
		return page, err
	}
	wanted := func(d *engine.Denial) bool {
		named := in.Actor == "" || in.Actor == d.Actor || strings.HasSuffix(d.Actor, "/"+in.Actor)
		return named && (in.Project == "" || in.Project == d.Project) && (in.Command == "" || in.Command == d.Command)
	}
	if in.Limit != "" && !v.Caller.Paged {
		page.Items = v.Service.Denials.Newest(asked.Limit, wanted)
		return page, nil
	}
	var more bool
	behind := uint64(max(asked.From, 0))
	if page.Items, more = v.Service.Denials.Page(behind, asked.Limit, wanted); more {
		page.Next = cursor{place: place{order: int64(page.Items[asked.Limit-1].Number)}}.String()
	}
	return page, nil
}
