package sandbox

import (
	"maps"
	"slices"
)

// env is the state of a shell. A value in it is never changed, only replaced, so that a copy shares it.
type env struct {
	vars    map[string]*variable
	funcs   map[string]function
	aliases map[string]string
	// dirs are the possible working directories; stack is that of pushd.
	dirs, stack []string
	// params are $1 and so on; they are nil if nothing is known of them.
	params []string
	// within names the function that is running.
	within string
	// branching says that a variable has alternatives.
	branching bool
}

// variable is a shell variable. A scalar has one value, and an array has keys.
type variable struct {
	values, keys []string
	exported     bool
	// refersTo is the variable that a nameref stands for.
	refersTo string
	// or are the other values that it may have, depending on what was not decided.
	or []*variable
}

// function is the body of a function. It is uncertain if perhaps it was not defined.
type function struct {
	body      *bodyOf
	uncertain bool
}

func newEnv(dirs Dirs) *env {
	e := &env{
		vars:    map[string]*variable{},
		funcs:   map[string]function{},
		aliases: map[string]string{},
		dirs:    []string{dirs.Cwd},
	}
	e.vars["PWD"] = &variable{values: []string{dirs.Cwd}, exported: true}
	if dirs.Home != "" {
		e.vars["HOME"] = &variable{values: []string{dirs.Home}, exported: true}
	}
	if dirs.MaestroHome != "" {
		e.vars["MAESTRO_HOME"] = &variable{values: []string{dirs.MaestroHome}, exported: true}
	}
	e.vars["IFS"] = &variable{values: []string{" \t\n"}}
	return e
}

func (e *env) clone() *env {
	c := *e
	c.vars, c.funcs, c.aliases = maps.Clone(e.vars), maps.Clone(e.funcs), maps.Clone(e.aliases)
	return &c
}

// child returns the state of a shell that is a program of its own: it has what is exported.
func (e *env) child() *env {
	c := e.clone()
	for name, v := range c.vars {
		if !v.exported && name != "IFS" {
			delete(c.vars, name)
		}
	}
	c.vars["IFS"] = &variable{values: []string{" \t\n"}}
	c.funcs, c.aliases, c.params = map[string]function{}, map[string]string{}, nil
	return c
}

// find returns a variable through its references; nil if nothing is known of it.
func (e *env) find(name string) *variable {
	for range 8 {
		v := e.vars[name]
		if v == nil || v.refersTo == "" {
			return v
		}
		name = v.refersTo
	}
	return nil
}

// value returns the value of a scalar, or the first of an array.
func (e *env) value(name string) (string, bool) {
	v := e.find(name)
	if v == nil {
		return unknown, false
	}
	if len(v.values) == 0 {
		return "", true
	}
	return v.values[0], true
}

// assign gives a variable new values.
func (e *env) assign(name string, v *variable) {
	for range 8 {
		old := e.vars[name]
		if old == nil || old.refersTo == "" {
			break
		}
		name = old.refersTo
	}
	if old := e.vars[name]; old != nil {
		v.exported = v.exported || old.exported
	}
	e.vars[name] = v
	e.branching = e.branching || len(v.or) > 0
}

func (e *env) set(name, value string) { e.assign(name, &variable{values: []string{value}}) }

// forget makes a variable unknown.
func (e *env) forget(name string) { delete(e.vars, name) }

// export returns a copy of a variable that is exported.
func (v *variable) export(is bool) *variable {
	c := *v
	c.exported = is
	return &c
}

func sameVariable(a, b *variable) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && a.exported == b.exported && a.refersTo == b.refersTo && len(a.or) == 0 &&
		len(b.or) == 0 && slices.Equal(a.values, b.values) && slices.Equal(a.keys, b.keys)
}

// mostAlternatives is how many values of a variable, or working directories, are kept apart.
const mostAlternatives = 8

// merge makes the state one that is either a or b.
func (e *env) merge(a, b *env) {
	delete(a.vars, "_")
	delete(b.vars, "_")
	vars := map[string]*variable{}
	for name, v := range a.vars {
		vars[name] = eitherOf(v, b.vars[name])
	}
	for name, v := range b.vars {
		if _, ok := a.vars[name]; !ok {
			vars[name] = eitherOf(v, nil)
		}
	}
	branching := false
	for name, v := range vars {
		if v == nil {
			delete(vars, name)
		} else if len(v.or) > 0 {
			branching = true
		}
	}
	funcs := maps.Clone(a.funcs)
	for name, f := range b.funcs {
		if g, ok := a.funcs[name]; !ok {
			f.uncertain = true
		} else {
			f.uncertain = f.uncertain || g.uncertain
		}
		funcs[name] = f
	}
	for name, f := range a.funcs {
		if _, ok := b.funcs[name]; !ok {
			f.uncertain = true
			funcs[name] = f
		}
	}
	aliases := maps.Clone(a.aliases)
	maps.Copy(aliases, b.aliases)
	dirs := slices.Clone(a.dirs)
	for _, dir := range b.dirs {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) > mostAlternatives {
		dirs = []string{unknown}
	}
	e.vars, e.funcs, e.aliases, e.dirs, e.branching = vars, funcs, aliases, dirs, branching
	e.stack = b.stack
	if !slices.Equal(a.params, b.params) {
		e.params = nil
	} else {
		e.params = b.params
	}
}

// mergeFailed adds what is so if not all of a list ran: other values of variables. Otherwise it counts as having run.
func (e *env) mergeFailed(before *env) {
	after := e.clone()
	e.merge(before, after)
	e.dirs, e.stack = after.dirs, after.stack
	for name, v := range after.vars {
		if before.vars[name] == nil || name == "PWD" || name == "OLDPWD" || name == "_" {
			e.vars[name] = v
		}
	}
}

// eitherOf returns a variable that has the values of a or of b; nil if nothing is known of it.
func eitherOf(a, b *variable) *variable {
	if sameVariable(a, b) {
		return a
	}
	if a == nil || b == nil {
		// what is not set is unknown
		return nil
	}
	one := *a
	one.or = nil
	for _, v := range slices.Concat(a.or, []*variable{b}, b.or) {
		alone := *v
		alone.or = nil
		if !sameVariable(&one, &alone) && !slices.ContainsFunc(one.or, func(o *variable) bool {
			return sameVariable(o, &alone)
		}) {
			one.or = append(one.or, &alone)
		}
	}
	if len(one.or) >= mostAlternatives {
		return nil
	}
	return &one
}
