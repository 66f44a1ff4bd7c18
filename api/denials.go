package api

import (
	"strings"

	"maestro/api/route"
	"maestro/engine"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) denialRoutes() {
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/denials", Name: "audit-denials", Summary: "The recorded refusals, oldest first",
	}, s.listDenials)
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/unauthenticated", Name: "audit-unauthenticated",
		Summary: "How many calls came without a valid credential",
	}, route.Bare(s.unauthenticatedCalls))
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/limits", Name: "audit-limits",
		Summary: "The limits that count, and how many calls each has refused",
	}, route.Bare(service.View.ListLimits))
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/can", Name: "audit-can", Summary: "Whether an actor may use a command, and why",
	}, service.View.GetCan)
}

func (s *server) listDenials(v service.View, in *wire.DenialFilter) (pageOf[engine.Denial], error) {
	page := pageOf[engine.Denial]{items: []engine.Denial{}}
	if err := v.Permit("audit:denials", in.Project); err != nil {
		return page, err
	}
	limit, err := pageLimit(in.Limit)
	if err != nil {
		return page, err
	}
	after, err := parseCursor(in.Cursor)
	if err != nil || v.Service.Denials == nil {
		return page, err
	}
	wanted := func(d *engine.Denial) bool {
		named := in.Actor == "" || in.Actor == d.Actor || strings.HasSuffix(d.Actor, "/"+in.Actor)
		return named && (in.Project == "" || in.Project == d.Project) && (in.Command == "" || in.Command == d.Command)
	}
	if in.Limit != "" && !v.Caller.Paged {
		page.items = v.Service.Denials.Newest(limit, wanted)
		return page, nil
	}
	var behind uint64
	if after != nil {
		behind = uint64(max(after.order, 0))
	}
	items, more := v.Service.Denials.Page(behind, limit, wanted)
	if page.items = items; more {
		page.next = cursor{place: place{order: int64(items[limit-1].Number)}}.String()
	}
	return page, nil
}

func (s *server) unauthenticatedCalls(v service.View) (wire.Unauthenticated, error) {
	count := wire.Unauthenticated{Count: s.unauthenticated.Load(), Since: s.started.UnixMilli()}
	return count, v.Permit("audit:denials", "")
}
