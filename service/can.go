package service

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// GetCan answers as the table and the decision would, and changes nothing.
func (v View) GetCan(in *wire.CanQuery) (wire.Can, error) {
	if err := v.Permit("audit:can", ""); err != nil {
		return wire.Can{}, err
	}
	if in.Command == "" {
		return v.canAll(in)
	}
	table := commands.CurrentRules()
	row, ok := table.Row(in.Command)
	if !ok {
		return wire.Can{}, commands.UnknownCommand(in.Command)
	}
	by, err := v.actorNamed(in.Actor)
	if err != nil {
		return wire.Can{}, err
	}
	body := wire.Can{
		Actor:   by.String(),
		Command: row.ID,
		Target:  in.Target,
		Row: wire.CanRow{
			ID:    row.ID,
			Who:   row.Who.String(),
			Write: row.Write,
			Rule:  row.Rule,
			Rules: table.Version,
		},
	}
	if row.Planned {
		body.Why = "it is not available in this version: " + commands.WhyPlanned
		return body, nil
	}
	project := in.Project
	if project == "" {
		project = v.projectOf(in.Target)
	}
	if project == "" {
		project = by.Project
	}
	target, err := v.target(in.Command, in.Target, project)
	if err != nil {
		return wire.Can{}, err
	}
	err = commands.PermitAt(v.State, table, commands.Call{By: by, Project: project, At: v.Service.Now()}, row.ID)
	if err == nil {
		err = v.onlyLate(by, row)
	}
	permitted := err == nil
	if permitted && row.Write {
		err = v.decides(by, row.ID, target, project)
	}
	var refusal *commands.Refusal
	switch {
	case err == nil:
		body.Allowed, body.Why = true, allowedTo(row)
	case !errors.As(err, &refusal):
		return wire.Can{}, err
	case refusal.Code == commands.CodeNotAllowed && permitted && in.Target == "": // a session would name itself
		body.Allowed, body.Why = true, allowedTo(row)
		body.Else = "only the permission was checked; the rest depends on what the command is about: name it too"
	case refusal.Code == commands.CodeNotAllowed:
		body.Why, body.Next = refusal.Message+": "+refusal.Why, refusal.Next
	case refusal.Code == commands.CodeInvalid: // a question names no further fields
		body.Allowed, body.Why = true, allowedTo(row)
		body.Else = "only the permission was checked; with no other fields the command is refused: " + refusal.Message
	default:
		body.Allowed, body.Why, body.Else = true, allowedTo(row), refusal.Message
	}
	if body.Allowed {
		body.Limits = v.limitsOf(by, cmpOr(project, by.Project), row)
	}
	return body, nil
}

// canAll answers for all commands, by the table alone.
func (v View) canAll(in *wire.CanQuery) (wire.Can, error) {
	by, err := v.actorNamed(in.Actor)
	if err != nil {
		return wire.Can{}, err
	}
	project := in.Project
	if project == "" {
		project = v.projectOf(in.Target)
	}
	if project == "" {
		project = by.Project
	}
	table := commands.CurrentRules()
	body := wire.Can{Actor: by.String()}
	var allowed []commands.Row
	reasons := map[string]int{}
	for _, row := range table.Rows() {
		if row.Alias != "" || row.Planned {
			continue
		}
		err := commands.PermitAt(v.State, table, commands.Call{By: by, Project: project, At: v.Service.Now()}, row.ID)
		if err == nil {
			err = v.onlyLate(by, row)
		}
		var refusal *commands.Refusal
		switch {
		case err == nil:
			body.Commands = append(body.Commands, row.ID)
			allowed = append(allowed, row)
			continue
		case !errors.As(err, &refusal):
			return wire.Can{}, err
		}
		i, known := reasons[refusal.Why]
		if !known {
			i = len(body.Refused)
			reasons[refusal.Why] = i
			body.Refused = append(body.Refused, wire.CanRefused{Why: refusal.Why})
		}
		body.Refused[i].Commands = append(body.Refused[i].Commands, row.ID)
	}
	body.Allowed = len(allowed) > 0
	body.Limits = v.limitsOf(by, project, allowed...)
	return body, nil
}

// onlyLate refuses the reports of a session that has ended. The table permits them for those that it kept before, which
// are the past.
func (v View) onlyLate(by commands.Actor, row commands.Row) error {
	x := v.Session(by.Name)
	if by.Kind != commands.ActorSession || x == nil || !x.Ended() || !row.Write {
		return nil
	}
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    row.ID,
		Message: "Session '" + x.ID + "' has ended",
		Why:     commands.WhyOnlyLate,
		Next:    "nothing: Maestro delivers the stored reports by itself",
	}
}

// actorNamed returns the actor that an auditor asks about.
func (v View) actorNamed(name string) (commands.Actor, error) {
	if _, session, ok := projections.SessionOfSource(name); ok {
		name = session
	}
	user, isUser := projections.UserOfSource(name)
	runner, isRunner := projections.RunnerOfSource(name)
	switch {
	case isRunner:
		return commands.RunnerActor(runner, commands.AuthnToken), nil
	case isUser && user != commands.AdminName:
		if token := v.Token(user); token != nil {
			return TokenActor(token), nil
		}
		return commands.Actor{}, NotFound("Actor", name)
	case isUser:
		return commands.Admin(commands.AuthnToken), nil
	case name == "":
		return commands.Actor{}, InvalidRequest("",
			"actor is required: a session's id, a token's name, or admin, system, runner")
	case name == commands.AdminName:
		return commands.Admin(commands.AuthnToken), nil
	case name == string(commands.ActorSystem):
		return commands.System(), nil
	case name == string(commands.ActorRunner):
		return commands.RunnerActor(name, commands.AuthnToken), nil
	}
	if project := v.SessionProject(name); project != "" {
		return commands.SessionActor(project, name, commands.AuthnToken), nil
	}
	if token := v.Token(name); token != nil {
		return TokenActor(token), nil
	}
	return commands.Actor{}, NotFound("Actor", name)
}

// projectOf returns the project of the object with an id.
func (v View) projectOf(id string) string {
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

func allowedTo(row commands.Row) string { return "the table allows it to: " + row.Who.String() }

// canTarget is the target of a command.
type canTarget struct {
	kind string // "task", "session"; "" if nothing is named
	id   string
	// fields are the names of the fields by which commands name such an object; each command has at most one of them.
	fields []string
}

// target finds the object with an id. Queue names are arbitrary, so only commands about queues accept one.
func (v View) target(command, id, project string) (canTarget, error) {
	noun, _, _ := strings.Cut(command, ":")
	switch {
	case id == "":
		return canTarget{}, nil
	case v.TaskProject(id) != "":
		return canTarget{"task", id, []string{"taskId", "taskIds", "parentId"}}, nil
	case v.SessionProject(id) != "":
		return canTarget{"session", id, []string{"sessionId"}}, nil
	case v.Input(id) != nil:
		return canTarget{"question", id, []string{"inputId"}}, nil
	case v.ProjectExisted(id):
		return canTarget{"project", id, []string{"projectId", "project"}}, nil
	case noun == "token" && v.Token(id) != nil:
		return canTarget{"token", id, []string{"name"}}, nil
	case noun == "template" && v.isTemplate(id):
		return canTarget{"template", id, []string{"templateId"}}, nil
	case noun == "queue" && (project == "" || command == "queue:create" || v.Queue(project, id) != nil):
		return canTarget{"queue", id, []string{"queue"}}, nil
	}
	return canTarget{}, NotFound("Target", id)
}

func (v View) isTemplate(id string) bool {
	return v.TemplateEver(id) || slices.Contains(commands.OwnTemplates(), id)
}

// command returns the command about a target, with no other field set.
func (t canTarget) command(id string) (commands.Command, error) {
	if t.kind == "" {
		return commands.Parse(id, []byte("{}"))
	}
	for _, field := range t.fields {
		var value any = t.id
		if field == "taskIds" {
			value = []string{t.id}
		}
		body, err := json.Marshal(map[string]any{field: value})
		if err != nil {
			return nil, err
		}
		command, err := commands.Parse(id, body)
		var refusal *commands.Refusal
		switch {
		case err == nil:
			return command, nil
		case errors.As(err, &refusal) && refusal.Code == commands.CodeNotFound: // it cannot be requested yet
			return nil, err
		}
	}
	return nil, InvalidRequest("", id+" is not about a "+t.kind)
}

// decides runs the decision of a command about a target.
func (v View) decides(by commands.Actor, id string, target canTarget, project string) error {
	command, err := target.command(id)
	if err != nil {
		return err
	}
	_, err = command.Decide(v.State, v.callOf(by, project))
	return err
}

// callOf returns a call of an actor in a project now.
func (v View) callOf(by commands.Actor, project string) commands.Call {
	call := commands.Call{
		By:      by,
		Project: project,
		At:      events.Instant(v.Service.Now()),
		ID:      uuid.New(),
		Rules:   commands.RulesVersion,
	}
	if last := v.At(); call.At.Before(last) {
		call.At = last
	}
	return call
}
