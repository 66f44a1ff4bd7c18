package api

import (
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
	if err := v.Permit("audit:denials", in.Project); err != nil { // before what is wrong with the parameters
		return page, err
	}
	limit, err := pageLimit(in.Limit)
	if err != nil {
		return page, err
	}
	after, err := parseCursor(in.Cursor)
	if err != nil {
		return page, err
	}
	var behind uint64
	if after != nil {
		behind = uint64(max(after.order, 0))
	}
	newest := in.Limit != "" && !v.Caller.Paged
	items, more, err := v.ListDenials(in, behind, limit, newest)
	if page.items = items; more {
		page.next = cursor{place: place{order: int64(items[limit-1].Number)}}.String()
	}
	return page, err
}

func (s *server) unauthenticatedCalls(v service.View) (wire.Unauthenticated, error) {
	count := wire.Unauthenticated{Count: s.unauthenticated.Load(), Since: s.started.UnixMilli()}
	return count, v.Permit("audit:denials", "")
}
