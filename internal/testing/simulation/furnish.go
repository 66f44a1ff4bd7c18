package simulation

import (
	"fmt"
	"testing/synctest"
)

// furnish gives the run something to work with: projects, tasks, and a session of every kind.
func (w *world) furnish() *Failure {
	ask := w.ask
	m := func() *model { return w.oracle.model() }
	tasks := func(n ...int) *[]string {
		var ids []string
		for _, i := range n {
			ids = append(ids, m().taskIDs[i])
		}
		return &ids
	}
	spawn := func(f fields) *Failure {
		f.Project, f.Strategy = m().projectIDs[0], "queue"
		return ask(admin, "session:spawn", f)
	}
	token := func(name, kind string, projects ...string) *Failure {
		return ask(admin, "token:create", fields{Name: &name, Kind: kind, ProjectIDs: projects})
	}
	makes := func(maker, name string) *Failure {
		if !w.plan.Tokens {
			return nil
		}
		return ask(caller{kind: "admin", name: maker}, "token:create", fields{Name: &name, Kind: "admin"})
	}
	boss := func() caller {
		return caller{kind: "session", name: m().sessionIDs[0], project: m().projectIDs[0]}
	}
	for _, next := range []func() *Failure{
		func() *Failure { return ask(admin, "project:create", fields{Name: ptr("Alpha")}) },
		func() *Failure { return ask(admin, "project:create", fields{Name: ptr("Beta")}) },
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("One")})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{
				Project: m().projectIDs[0], Title: ptr("Two"),
				ParentID: ptr(m().taskIDs[0]),
			})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Three")})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[1], Title: ptr("Four")})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{
				Project: m().projectIDs[0], Role: "orchestrator",
				TaskIDs: tasks(0, 2),
			})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], TaskIDs: tasks(0)})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], Strategy: "queue", TaskIDs: tasks(2)})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{
				Project: m().projectIDs[1], TaskIDs: tasks(3),
				Allowed: &lists[1],
			})
		},
		func() *Failure { return ask(boss(), "session:spawn", fields{Strategy: "tree", TaskIDs: tasks(1)}) },
		func() *Failure { return ask(boss(), "project:create", fields{Name: ptr("Gamma")}) },
		func() *Failure {
			return ask(admin, "session:spawn", fields{
				Project: m().projectIDs[0],
				Role:    "orchestrator",
				TaskIDs: tasks(2),
				Allowed: &lists[5],
			})
		},
		func() *Failure { return token("ann", "admin") },
		func() *Failure { return token("eve", "auditor") },
		func() *Failure { return token("rob", "read-only", m().projectIDs[0]) },
		func() *Failure { return makes("ann", "bob") },
		func() *Failure { return makes("bob", "cat") },
		func() *Failure {
			return ask(admin, "queue:create", fields{
				Project:      m().projectIDs[0],
				Queue:        "line",
				TrustReports: w.plan.Seed%2 == 0,
				MaxAttempts:  int(w.plan.Seed % 4),
			})
		},
		func() *Failure { return spawn(fields{Queue: "line", TaskIDs: tasks(0)}) },
		func() *Failure {
			return ask(admin, "task:create", fields{
				Project: m().projectIDs[0], Title: ptr("Five"),
				Dependencies: tasks(0),
			})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Six")})
		},
		func() *Failure {
			return spawn(fields{Queue: "line", TaskIDs: tasks(4, 1, 5), SpawnedBy: m().sessionIDs[0]})
		},
		func() *Failure { return ask(boss(), "session:spawn", fields{Role: "orchestrator", TaskIDs: tasks(2)}) },
		func() *Failure {
			ids := m().sessionIDs
			middle := caller{kind: "session", name: ids[len(ids)-1], project: m().projectIDs[0]}
			return ask(middle, "session:spawn", fields{TaskIDs: tasks(5)})
		},
	} {
		if f := next(); f != nil {
			return f
		}
	}
	return nil
}

// ask sends a command to the first server and checks the result.
func (w *world) ask(by caller, id string, f fields) *Failure {
	w.submit(w.servers[0], wish{
		by:     by,
		id:     id,
		fields: f,
		key:    w.key(),
	})
	synctest.Wait()
	return w.judgeStep()
}

// key returns an unused key.
func (w *world) key() string {
	w.keys++
	return fmt.Sprintf("k%d", w.keys)
}
