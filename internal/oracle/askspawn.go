package oracle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxTimeout is the maximum lifetime of a session, in milliseconds.
const maxTimeout = 365 * 24 * 60 * 60 * 1000

// kind returns the role and the strategy of a new session.
func (a *asked) kind() (role, strategy string) {
	role = cmp.Or(a.f.Role, "worker")
	return role, strategyOf(role, a.f.Strategy)
}

// strategyOf returns the strategy for a role: simple if none is requested, which for an orchestrator means default.
func strategyOf(role, asked string) string {
	asked = cmp.Or(asked, "simple")
	if role == "orchestrator" && asked == "simple" {
		return "default"
	}
	return asked
}

// given returns the commands of a new session: the requested and the core commands, or the list of its role.
func (a *asked) given(role, strategy string) permissions {
	letter := letterOf(role, strategy)
	if a.f.Allowed == nil {
		return permissions{Commands: defaultList(letter)}
	}
	list := slices.DeleteFunc(slices.Concat(coreList(letter), *a.f.Allowed), func(id string) bool {
		return slices.Contains(planned, id)
	})
	return permissions{Commands: unique(&list), Explicit: true}
}

func (a *asked) spawn() fact {
	if !a.liveProject(a.event.Project) {
		return nil
	}
	f := &sessionSpawned{
		SessionID: a.fresh,
		TaskIDs:   unique(a.f.TaskIDs),
		SpawnedBy: a.f.SpawnedBy,
		Timeout:   a.f.Timeout,
		Manifest:  a.manifest(),
		Runner:    a.f.Runner,
		Options:   a.agentOptions(a.event.Project),
	}
	f.Role, f.Strategy = a.kind()
	a.tasksOf(a.event.Project, f.TaskIDs)
	if len(f.TaskIDs) == 0 && f.Strategy != "queue" || a.f.Timeout > maxTimeout ||
		a.f.Runner != "" && !isID(a.f.Runner) ||
		a.f.WorkingDirectory != "" && !strings.HasPrefix(a.f.WorkingDirectory, "/") {
		a.refuse(codeInvalid)
	}
	f.Permissions = a.given(f.Role, f.Strategy)
	if a.by.kind == bySession {
		f.SpawnedBy = cmp.Or(f.SpawnedBy, a.by.id)
		if own := a.sessions[a.by.id].commands; f.Role == "orchestrator" && a.f.Allowed == nil {
			all := len(f.Permissions.Commands)
			f.Permissions.Commands = slices.DeleteFunc(f.Permissions.Commands, func(id string) bool { return !own[id] })
			f.Permissions.Explicit = len(f.Permissions.Commands) < all
		}
		if a.f.Allowed != nil && slices.ContainsFunc(*a.f.Allowed, a.beyondLater(f.Role, f.Strategy)) {
			a.refuse(codeAllowed)
		}
	}
	a.work(f)
	return f
}

// beyondLater returns which commands of a later version an orchestrator may not give: to a worker, those that its role
// will not have; to an orchestrator, also all others, if its own list lacks a command of its role.
func (a *asked) beyondLater(role, strategy string) func(id string) bool {
	letter, less := letterOf(role, strategy), false
	if role == "orchestrator" {
		own := a.sessions[a.by.id].commands
		less = slices.ContainsFunc(defaultList(letter), func(id string) bool {
			return !own[id] && !slices.Contains(planned, id)
		})
	}
	return func(id string) bool { return slices.Contains(planned, id) && (less || !mayUse(id, letter)) }
}

// work determines what a spawn does with the tasks: which it starts, which it queues, and what they wait for.
func (a *asked) work(f *sessionSpawned) {
	q := a.queues[queueKey{a.event.Project, a.f.Queue}]
	switch {
	case a.f.Queue == "":
	case f.Strategy != "queue" || !isID(a.f.Queue):
		a.refuse(codeInvalid)
	case q == nil:
		a.refuse(codeFound)
	case q.session != "" && a.fate(q.session) == "":
		a.refuse(codeConflict)
	}
	if f.Strategy == "queue" {
		f.Queue = cmp.Or(a.f.Queue, a.fresh)
	}
	open := map[string]bool{}
	for _, id := range f.TaskIDs {
		t := a.tasks[id]
		switch {
		case t == nil:
			continue
		case f.Strategy != "queue" && t.status == todo:
			f.Started = append(f.Started, id)
		case f.Strategy == "queue" && q.itemOf(id) == nil:
			f.Queued = append(f.Queued, id)
		}
		for _, dependency := range t.dependencies {
			if !slices.Contains(f.TaskIDs, dependency) && !a.satisfied(dependency, false) {
				open[dependency] = true
			}
		}
	}
	f.Unmet = slices.Sorted(maps.Keys(open))
	f.Forced = a.f.Force && f.waits()
}
