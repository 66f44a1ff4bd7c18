package commands

import (
	"reflect"
	"slices"

	"maestro/events"
	"maestro/projections"
)

// Resolved returns the spawn with what it takes from the session that it is to be like: role, strategy, commands and
// options, as far as it does not give them itself. The tasks are its own. Of the options, those in the manifest of that
// session come first: see [SpawnSession.WithOptions].
func (x *SpawnSession) Resolved(s *projections.State, by Actor) (*SpawnSession, error) {
	if x.Like == nil || x.asked != nil && x.asked.resolved {
		return x, nil
	}
	id := *x.Like
	if err := ValidID("/like", id); err != nil { // an empty one, too: the default would be more than was meant
		return nil, err
	}
	like := s.SessionEver(id)
	switch {
	case like == nil:
		return nil, notFound("Session", id)
	case like.ProjectID != x.project(s, by):
		if by.Kind != ActorUser {
			return nil, notFound("Session", id)
		}
		refusal := invalid("/like", "session '%s' is in another project: %s", id, like.ProjectID)
		refusal.Next = "name a session of the project in which you spawn this one"
		return nil, refusal
	}
	switch {
	case x.ManifestDigest != "":
		return nil, invalid("/like", "--like and a manifest cannot be used together: leave out one of them")
	case x.Role != "" && x.Role != like.Role:
		refusal := invalid("/role", "--like takes the role of session '%s', which is %s", id, aRole(like.Role))
		refusal.Next = "leave out --role, or spawn the session without --like"
		return nil, refusal
	}
	has := events.AgentOptions{}
	if like.Options != nil {
		has = *like.Options
	}
	spawn := x.WithOptions(like.Model, like.Agent, like.Skills, like.Timeout(), has)
	setAbsent(&spawn.Runner, like.Runner)
	spawn.asked.resolved = true
	spawn.Project, spawn.Role = like.ProjectID, like.Role
	if x.Strategy == "" {
		spawn.takeStrategy(s, like)
	}
	given := spawn.asked.PermissionMode
	if x.Allowed == nil && (given == "" || given == has.PermissionMode || !readsOnly(like)) {
		spawn.Allowed = allowedLike(s, by, like, RoleSetOf(spawn.Role, spawn.Strategy))
	}
	if id := spawn.TemplateID; spawn.asked.TemplateID == "" && !slices.Contains(OwnTemplates(), id) &&
		s.Template(id) == nil {
		spawn.TemplateID = ""
	}
	if x.Context == nil && mayPassOn(s, by, like) {
		spawn.Context = like.Context
	}
	if x.SpawnedBy == "" && by.Kind == ActorUser {
		spawn.SpawnedBy = s.Leader(like)
	}
	return spawn, nil
}

// WithOptions returns the spawn with these options where it gives none. A request is the same whatever it took, so the
// request hash covers it as it was asked.
func (x *SpawnSession) WithOptions(
	model, agent string, skills []string, timeout int64, options events.AgentOptions,
) *SpawnSession {
	spawn := *x
	if x.asked == nil {
		spawn.asked = &askedSpawn{SpawnSession: x}
	} else {
		asked := *x.asked
		spawn.asked = &asked
	}
	setAbsent(&spawn.Model, model)
	setAbsent(&spawn.Agent, agent)
	setAbsent(&spawn.Timeout, timeout)
	spawn.AgentOptions = optionsOr(x.AgentOptions, options)
	if x.Skills == nil {
		spawn.Skills = skills
	}
	return &spawn
}

// askedSpawn is a spawn as it was asked for.
type askedSpawn struct {
	*SpawnSession
	// resolved says that everything was taken from the other session.
	resolved bool
}

// Asked implements the interface of commands that are completed after they were asked for.
func (x *SpawnSession) Asked() Command {
	if x.asked != nil {
		return x.asked.SpawnSession
	}
	return x
}

// readsOnly reports whether a session was given the list of commands of a worker that reads only.
func readsOnly(x *projections.Session) bool {
	return x.Permissions != nil && x.Permissions.Explicit && x.Role == events.RoleWorker &&
		slices.Equal(x.Permissions.Commands, ReadOnlyCommands(x.Strategy))
}

// mayPassOn reports whether the caller may read what was written for a session when it was spawned.
func mayPassOn(s *projections.State, by Actor, like *projections.Session) bool {
	if by.Kind != ActorSession {
		return true
	}
	spawner := s.Session(by.Name)
	return by.Name == like.SpawnedBy && spawner != nil && spawner.Permissions != nil &&
		slices.Contains(spawner.Permissions.Commands, "manifest:show")
}

// project is the one that a spawn names, or its caller's, or that of the session that it is to be like.
func (x *SpawnSession) project(s *projections.State, by Actor) string {
	if project := x.projectOr(by); project != "" || x.Like == nil {
		return project
	}
	if like := s.SessionEver(*x.Like); like != nil {
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
