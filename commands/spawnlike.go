package commands

import (
	"reflect"
	"slices"

	"maestro/events"
	"maestro/projections"
)

// Resolved returns the spawn with what it takes from the session that it is to be like: role, strategy, commands and
// options, as far as it does not give them itself. The tasks are its own. The context of that session, which was
// written for it, is taken by those only who may read it.
func (x *SpawnSession) Resolved(s *projections.State, by Actor) (*SpawnSession, error) {
	if x.Like == "" {
		return x, nil
	}
	if err := ValidID("/like", x.Like); err != nil {
		return nil, err
	}
	like := s.Session(x.Like)
	if like == nil || like.ProjectID != x.project(s, by) {
		return nil, notFound("Session", x.Like)
	}
	switch {
	case x.ManifestDigest != "":
		return nil, invalid("/like", "a manifest says all that the session gets, so it is like no other")
	case x.Role != "" && x.Role != like.Role:
		refusal := invalid("/role", "session '%s' is %s, so one like it is no other", x.Like, aRole(like.Role))
		refusal.Next = "leave out role, or like"
		return nil, refusal
	}
	spawn := *x
	spawn.Like, spawn.Project, spawn.Role = "", like.ProjectID, like.Role
	if x.Strategy == "" {
		spawn.takeStrategy(s, like)
	}
	if x.Allowed == nil {
		spawn.Allowed = allowedLike(s, by, like, RoleSetOf(spawn.Role, spawn.Strategy))
	}
	setAbsent(&spawn.Model, like.Model)
	setAbsent(&spawn.Agent, like.Agent)
	setAbsent(&spawn.Timeout, like.Timeout())
	if like.Options != nil {
		spawn.AgentOptions = optionsOr(x.AgentOptions, *like.Options)
		if id := spawn.TemplateID; x.TemplateID == "" && !slices.Contains(OwnTemplates(), id) && s.Template(id) == nil {
			spawn.TemplateID = ""
		}
	}
	if x.Skills == nil {
		spawn.Skills = like.Skills
	}
	if x.Context == nil && (by.Kind != ActorSession || by.Name == like.SpawnedBy) {
		spawn.Context = like.Context
	}
	return &spawn, nil
}

// project is the one that a spawn names, or its caller's, or that of the session that it is to be like.
func (x *SpawnSession) project(s *projections.State, by Actor) string {
	if project := x.projectOr(by); project != "" || x.Like == "" {
		return project
	}
	if like := s.Session(x.Like); like != nil {
		return like.ProjectID
	}
	return ""
}

// takeStrategy takes the strategy of another session. With tasks of its own, a session does not pull from the queue
// that the other pulls from; nor can it from one that is the other's own.
func (x *SpawnSession) takeStrategy(s *projections.State, like *projections.Session) {
	if like.Strategy == events.StrategyQueue && len(x.TaskIDs) > 0 && x.Queue == "" {
		return
	}
	x.Strategy = like.Strategy
	if like.Queue != like.ID || s.Gone(like.ID) != "" {
		setAbsent(&x.Queue, like.Queue)
	}
}

// allowedLike returns the list of commands of another session, if it was given one: those of them that the new
// session's role may have, and that the caller may give.
func allowedLike(s *projections.State, by Actor, like *projections.Session, who RoleSet) *[]string {
	if like.Permissions == nil || !like.Permissions.Explicit {
		return nil
	}
	mayGive := func(string) bool { return true }
	if spawner := s.Session(by.Name); by.Kind == ActorSession && spawner != nil && spawner.Permissions != nil {
		own := spawner.Permissions.Commands
		if like.Role != events.RoleOrchestrator {
			own = slices.Concat(own, current().Defaults(who))
		}
		mayGive = func(id string) bool { return slices.Contains(own, id) }
	}
	list := slices.DeleteFunc(slices.Clone(like.Permissions.Commands), func(id string) bool {
		return current().MayList(who, id) != "" || !mayGive(id)
	})
	return &list
}

// setAbsent sets a value that is not given.
func setAbsent[T comparable](to *T, value T) {
	var none T
	if *to == none {
		*to = value
	}
}

// optionsOr returns options with those of another session where none are given.
func optionsOr(given, like events.AgentOptions) events.AgentOptions {
	fields, others := reflect.ValueOf(&given).Elem(), reflect.ValueOf(like)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(others.Field(i))
		}
	}
	return given
}

// options returns the options for the event, nil if all are the defaults.
func (x *SpawnSession) options() *events.AgentOptions {
	switch {
	case x.Stated != nil:
		return x.Stated
	case x.AgentOptions == (events.AgentOptions{}):
		return nil
	}
	options := x.AgentOptions
	return &options
}
