package api

import (
	"strings"

	"maestro/commands"
	"maestro/engine"
	"maestro/service"
)

type denialFilter struct {
	Cursor  string `query:"cursor" doc:"where the page begins: what the page before gave"`
	Actor   string `query:"actor" doc:"of this actor: a source, a session's id or a token's name"`
	Project string `query:"project" doc:"in this project"`
	Command string `query:"command" doc:"of this command"`
	Limit   string `query:"limit" doc:"only so many, the newest; with a cursor, the length of a page"`
}

func (s *server) denialRoutes() {
	read(s, op{
		path: "/api/audit/denials", name: "audit-denials", summary: "The recorded refusals, oldest first",
	}, s.listDenials)
	read(s, op{
		path: "/api/audit/unauthenticated", name: "audit-unauthenticated",
		summary: "How many calls came without a valid credential",
	}, bare(s.unauthenticatedCalls))
	read(s, op{
		path: "/api/audit/limits", name: "audit-limits",
		summary: "The limits that count, and how many calls each has refused",
	}, bare(s.listLimits))
	read(s, op{
		path: "/api/audit/can", name: "audit-can", summary: "Whether an actor may use a command, and why",
	}, s.can)
}

func (s *server) listDenials(v service.View, in *denialFilter) (pageOf[engine.Denial], error) {
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

// Unauthenticated counts the calls of nobody since the server started.
type Unauthenticated struct {
	Count uint64 `json:"count"`
	Since int64  `json:"since"`
}

func (s *server) unauthenticatedCalls(v service.View) (Unauthenticated, error) {
	return Unauthenticated{s.unauthenticated.Load(), s.started.UnixMilli()}, v.Permit("audit:denials", "")
}

// can says whether an actor may use a command, and which limits it counts against.
func (s *server) can(v service.View, in *service.CanQuery) (service.Can, error) {
	body, by, err := v.GetCan(in)
	if row, ok := commands.CurrentRules().Row(body.Row.ID); ok && body.Allowed {
		body.Limits = s.limitsOf(v, by, row)
	}
	return body, err
}
