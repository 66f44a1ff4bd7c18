package projections

import (
	"maps"
	"slices"
	"strings"

	"maestro/events"
)

// OwnVariables is how the names of Maestro's own variables begin.
const OwnVariables = "MAESTRO_"

// userEnv returns which variables a user was the last to set, after an event that set some.
func userEnv(f fact, before []string, set map[string]string) []string {
	if _, user := UserOfSource(f.Source); !user {
		return slices.DeleteFunc(slices.Clone(before), func(name string) bool { _, again := set[name]; return again })
	}
	after := slices.AppendSeq(slices.Clone(before), maps.Keys(set))
	slices.Sort(after)
	return slices.Compact(after)
}

// updateEnv sets and removes variables.
func (s *State) updateEnv(f fact, x *SessionFields, d *events.SessionUpdated) {
	if len(d.RemovedEnv) > 0 {
		s.work(uint64(len(x.Env) + len(x.UserEnv) + len(d.RemovedEnv)))
		env := maps.Clone(x.Env)
		for _, name := range d.RemovedEnv {
			delete(env, name)
		}
		x.UserEnv = slices.DeleteFunc(slices.Clone(x.UserEnv), func(name string) bool {
			_, kept := env[name]
			return !kept
		})
		if x.Env = env; len(env) == 0 { // as before any was set
			x.Env, x.UserEnv = nil, nil
		}
	}
	if d.Env != nil {
		s.work(uint64(len(x.Env) + len(d.Env)))
		env := make(map[string]string, len(x.Env)+len(d.Env))
		maps.Copy(env, x.Env)
		maps.Copy(env, d.Env)
		x.Env, x.UserEnv = env, userEnv(f, x.UserEnv, d.Env)
	}
}

// CommandEnv returns the variables that are set for the session's commands: those that a user was the last to set. An
// orchestrator could make a program of the user do something else with a variable such as LD_PRELOAD. Maestro's own are
// set by Maestro.
func (x *Session) CommandEnv() map[string]string {
	env := make(map[string]string, len(x.UserEnv))
	for _, name := range x.UserEnv {
		if !strings.HasPrefix(name, OwnVariables) {
			env[name] = x.Env[name]
		}
	}
	return env
}
