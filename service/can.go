package service

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// CanQuery asks whether an actor may use a command.
type CanQuery struct {
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

// GetCan answers as the table and the decision would, and changes nothing. It gives the actor that it is about.
func (v View) GetCan(in *CanQuery) (Can, commands.Actor, error) {
	if err := v.Permit("audit:can", ""); err != nil {
		return Can{}, commands.Actor{}, err
	}
	table := commands.CurrentRules()
	row, ok := table.Row(in.Command)
	if !ok {
		return Can{}, commands.Actor{}, NotFound("Command", in.Command)
	}
	by, err := v.actorNamed(in.Actor)
	if err != nil {
		return Can{}, commands.Actor{}, err
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
	err = commands.PermitAt(v.State, table, commands.Call{By: by, Project: project, At: v.Service.Now()}, row.ID)
	if err == nil && row.Write {
		err = v.decides(by, row.ID, in.Target, project)
	}
	var refusal *commands.Refusal
	switch {
	case err == nil:
		body.Allowed, body.Why = true, "the row names "+row.Who.String()
	case !errors.As(err, &refusal):
		return Can{}, commands.Actor{}, err
	case refusal.Code == commands.CodeNotAllowed:
		body.Why, body.Next = refusal.Message+": "+refusal.Why, refusal.Next
	default:
		body.Allowed, body.Why, body.Else = true, "the row names "+row.Who.String(), refusal.Message
	}
	return body, by, nil
}

// actorNamed gives the actor that an auditor means.
func (v View) actorNamed(name string) (commands.Actor, error) {
	if _, session, ok := projections.SessionOfSource(name); ok {
		name = session
	}
	user, isUser := strings.CutPrefix(name, "/users/")
	switch {
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
		return commands.Actor{Kind: commands.ActorRunner, Name: name}, nil
	}
	if project := v.SessionProject(name); project != "" {
		return commands.SessionActor(project, name, commands.AuthnToken), nil
	}
	if token := v.Token(name); token != nil {
		return TokenActor(token), nil
	}
	return commands.Actor{}, NotFound("Actor", name)
}

// projectOf gives the project of whatever an id names.
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

// decides asks the decision of a command about a target, with nothing else filled in.
func (v View) decides(by commands.Actor, id, target, project string) error {
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
		At:      events.Instant(v.Service.Now()),
		ID:      uuid.New(),
		Rules:   commands.RulesVersion,
	}
	if last := v.At(); call.At.Before(last) {
		call.At = last
	}
	_, err = command.Decide(v.State, call)
	return err
}

// CanLimit is a limit that a command counts against, as it stands.
type CanLimit struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Left is how much of it is left now.
	Left int64 `json:"left"`
}
