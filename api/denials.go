package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

type denialFilter struct {
	Actor   string `query:"actor" doc:"of this actor: a source, a session's id or a token's name"`
	Project string `query:"project" doc:"in this project"`
	Command string `query:"command" doc:"of this command"`
	Limit   string `query:"limit" doc:"only so many, the newest; with a cursor, the length of a page"`
}

type canQuery struct {
	Actor   string `query:"actor" doc:"a session's id, a token's name, or admin, system, runner"`
	Command string `query:"command" doc:"a command's id"`
	Target  string `query:"target" doc:"what it would be about: a task, a session, a question, a project, a queue"`
	Project string `query:"project" doc:"the project, where the target names none"`
}

// Can says whether an actor may use a command, and why.
type Can struct {
	Allowed bool   `json:"allowed"`
	Actor   string `json:"actor"`
	Command string `json:"command"`
	Target  string `json:"target,omitempty"`
	// Row is the table's: who the command is for, and what its decision rests on.
	Row  CanRow `json:"row"`
	Why  string `json:"why"`
	Next string `json:"next,omitempty"`
	// Else is what stands in the way beside permission, such as a field that is missing.
	Else string `json:"else,omitempty"`
	// Limits are those that the command counts against for the actor.
	Limits []CanLimit `json:"limits,omitempty"`
}

// CanRow is a row of the permission table.
type CanRow struct {
	ID    string `json:"id"`
	Who   string `json:"who"`
	Write bool   `json:"write"`
	Rule  string `json:"rule"`
	Rules string `json:"rules"`
}

func (s *server) denialRoutes() {
	read(s, op{
		path: "/api/audit/denials", name: "audit-denials", summary: "The recorded refusals, oldest first",
	}, listDenials)
	read(s, op{
		path: "/api/audit/unauthenticated", name: "audit-unauthenticated",
		summary: "How many calls came without a valid credential",
	}, unauthenticatedCalls)
	read(s, op{
		path: "/api/audit/limits", name: "audit-limits",
		summary: "The limits that count, and how many calls each has refused",
	}, listLimits)
	read(s, op{
		path: "/api/audit/can", name: "audit-can", summary: "Whether an actor may use a command, and why",
	}, can)
}

func listDenials(v view, in *denialFilter) (pageOf[engine.Denial], error) {
	page := pageOf[engine.Denial]{items: []engine.Denial{}}
	if err := v.permit("audit:denials", in.Project); err != nil {
		return page, err
	}
	query := v.call.request.URL.Query()
	limit, err := pageLimit(query)
	if err != nil {
		return page, err
	}
	after, err := parseCursor(query.Get("cursor"))
	if err != nil || v.server.Denials == nil {
		return page, err
	}
	wanted := func(d *engine.Denial) bool {
		named := in.Actor == "" || in.Actor == d.Actor || strings.HasSuffix(d.Actor, "/"+in.Actor)
		return named && (in.Project == "" || in.Project == d.Project) && (in.Command == "" || in.Command == d.Command)
	}
	if in.Limit != "" && !query.Has("cursor") {
		page.items = v.server.Denials.Newest(limit, wanted)
		return page, nil
	}
	var behind uint64
	if after != nil {
		behind = uint64(max(after.order, 0))
	}
	items, more := v.server.Denials.Page(behind, limit, wanted)
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

func unauthenticatedCalls(v view, _ *struct{}) (Unauthenticated, error) {
	return Unauthenticated{v.server.unauthenticated.Load(), v.server.started.UnixMilli()}, v.permit("audit:denials", "")
}

// recordRefusal records what the table refused outside a Handler, such as a read, before it is answered.
func (s *server) recordRefusal(ctx context.Context, c *call, err error) error {
	var refusal *commands.Refusal
	var p *problem
	switch {
	case s.Denials == nil, c == nil, c.anonymous && c.reads():
		return err
	case errors.As(err, &refusal):
		if refusal.Code != commands.CodeNotAllowed || refusal.Recorded {
			return err
		}
	case errors.As(err, &p) && p.status == http.StatusForbidden:
		refusal = &commands.Refusal{Code: commands.CodeNotAllowed, Rule: p.Rule, Message: p.Message, Why: p.Why}
	default:
		return err
	}
	command := refusal.Rule
	if command == "" {
		command = c.request.Method + " " + printable(c.request.URL.Path)
	}
	if failed := s.Denials.Record(ctx, c.by, c.root, command, refusal, s.head()); failed != nil {
		return failed
	}
	refusal.Recorded = true
	return err
}

// can answers as the table and the decision would, and changes nothing.
func can(v view, in *canQuery) (Can, error) {
	if err := v.permit("audit:can", ""); err != nil {
		return Can{}, err
	}
	table := commands.CurrentRules()
	row, ok := table.Row(in.Command)
	if !ok {
		return Can{}, notFound("Command", in.Command)
	}
	by, err := v.actorNamed(in.Actor)
	if err != nil {
		return Can{}, err
	}
	body := Can{
		Actor: by.String(), Command: row.ID, Target: in.Target,
		Row: CanRow{ID: row.ID, Who: row.Who.String(), Write: row.Write, Rule: row.Rule, Rules: table.Version},
	}
	project := in.Project
	if project == "" {
		project = v.projectOf(in.Target)
	}
	if project == "" {
		project = by.Project
	}
	err = commands.PermitAt(v.State, table, commands.Call{By: by, Project: project, At: v.server.Now()}, row.ID)
	if err == nil && row.Write {
		err = v.decides(by, row.ID, in.Target, project)
	}
	var refusal *commands.Refusal
	switch {
	case err == nil:
		body.Allowed, body.Why = true, "the row names "+row.Who.String()
	case !errors.As(err, &refusal):
		return Can{}, err
	case refusal.Code == commands.CodeNotAllowed:
		body.Why, body.Next = refusal.Message+": "+refusal.Why, refusal.Next
	default:
		body.Allowed, body.Why, body.Else = true, "the row names "+row.Who.String(), refusal.Message
	}
	if body.Allowed {
		body.Limits = v.limitsOf(by, row)
	}
	return body, nil
}

// actorNamed gives the actor that an auditor means.
func (v view) actorNamed(name string) (commands.Actor, error) {
	if _, session, ok := projections.SessionOfSource(name); ok {
		name = session
	}
	user, isUser := strings.CutPrefix(name, "/users/")
	switch {
	case isUser && user != commands.AdminName:
		if token := v.Token(user); token != nil {
			return tokenActor(token), nil
		}
		return commands.Actor{}, notFound("Actor", name)
	case isUser:
		return commands.Admin(commands.AuthnToken), nil
	case name == "":
		return commands.Actor{}, routeInvalid("",
			"actor is required: a session's id, a token's name, or admin, system, runner")
	case name == commands.AdminName:
		return commands.Admin(commands.AuthnToken), nil
	case name == string(commands.ActorSystem):
		return commands.System(), nil
	case name == string(commands.ActorRunner):
		return commands.Actor{Kind: commands.ActorRunner, Name: name}, nil
	}
	if project := v.SessionProject(name); project != "" {
		return commands.SessionActor(project, name, commands.AuthnToken), nil
	}
	if token := v.Token(name); token != nil {
		return tokenActor(token), nil
	}
	return commands.Actor{}, notFound("Actor", name)
}

// projectOf gives the project of whatever an id names.
func (v view) projectOf(id string) string {
	if project := v.TaskProject(id); project != "" {
		return project
	}
	if project := v.SessionProject(id); project != "" {
		return project
	}
	if x := v.Input(id); x != nil {
		return x.ProjectID
	}
	if v.ProjectExisted(id) {
		return id
	}
	return ""
}

// decides asks the decision of a command about a target, with nothing else filled in.
func (v view) decides(by commands.Actor, id, target, project string) error {
	fields := map[string]any{}
	switch {
	case target == "":
	case v.TaskProject(target) != "" && strings.Contains(id, "report:"):
		fields["taskIds"] = []string{target}
	case v.TaskProject(target) != "":
		fields["taskId"] = target
	case v.SessionProject(target) != "":
		fields["sessionId"] = target
	case v.Input(target) != nil:
		fields["inputId"] = target
	case v.ProjectExisted(target):
		fields["projectId"] = target
	default:
		fields["queue"] = target
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	command, err := commands.Parse(id, body)
	if err != nil {
		return err
	}
	call := commands.Call{
		By:      by,
		Project: project,
		At:      events.Instant(v.server.Now()),
		ID:      uuid.New(),
		Rules:   commands.RulesVersion,
	}
	if last := v.At(); call.At.Before(last) {
		call.At = last
	}
	_, err = command.Decide(v.State, call)
	return err
}

// tokenActor gives the actor that a named token stands for.
func tokenActor(token *projections.Token) commands.Actor {
	return commands.Actor{
		Kind:       commands.ActorUser,
		Name:       token.Name,
		Access:     commands.Access(token.Kind),
		Projects:   slices.Clone(token.ProjectIDs),
		Generation: token.Generation,
		Authn:      commands.AuthnToken,
	}
}
