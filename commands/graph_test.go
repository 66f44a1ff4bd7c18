package commands

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"maestro/events"
	"maestro/projections"
)

// waitsForItself returns a task that waits for itself: a task waits for its dependencies, and a parent for what is
// below it. "" if there is none.
func (g *ground) waitsForItself(ids []string) string {
	for _, id := range ids {
		seen := map[string]bool{}
		next := []string{id}
		for len(next) > 0 {
			t := g.s.Task(next[0])
			next = next[1:]
			ahead := append([]string{}, t.Dependencies...)
			for child := range g.s.Children(t.ID) {
				ahead = append(ahead, child.ID)
			}
			for _, other := range ahead {
				if other == id {
					return id
				}
				if !seen[other] {
					seen[other] = true
					next = append(next, other)
				}
			}
		}
	}
	return ""
}

// Whatever commands create, change and move tasks, none waits for itself, also not through parents; and a command is
// refused for a cycle only if there would be one.
func TestNoTaskWaitsForItself(t *testing.T) {
	refused := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		g := newGround(t)
		ids := g.tasks("t", 6)
		one := func() string { return ids[r.IntN(len(ids))] }
		for step := range 60 {
			var command Command
			parent := one()
			switch r.IntN(6) {
			case 0:
				command = &CreateTask{
					ProjectRef:   ProjectRef{"p"},
					Title:        "T",
					ParentID:     parent,
					Dependencies: []string{one()},
				}
			case 1:
				command = &UpdateTask{TaskID: one(), AddDependencies: []string{one()}}
			case 2:
				command = &UpdateTask{TaskID: one(), ParentID: &parent}
			case 3:
				command = &UpdateTask{TaskID: one(), ParentID: &parent, Dependencies: &[]string{one(), one()}}
			case 4:
				command = &UpdateTask{TaskID: one(), RemoveDependencies: []string{one(), one(), one()}}
			case 5:
				root := rootParent
				command = &UpdateTask{TaskID: one(), ParentID: &root, AddDependencies: []string{one()}}
			}
			data, err := Decide(g.s, command, called(Admin(AuthnToken), RulesVersion))
			if err != nil {
				refused++
				update, ok := command.(*UpdateTask)
				if ok && (update.ParentID == nil || !g.s.Above(*update.ParentID)[update.TaskID]) {
					g.wouldWaitForItself(update, ids, fmt.Sprintf("seed %d, step %d: %v", seed, step, err))
				}
				continue
			}
			if data == nil {
				continue
			}
			if created, ok := data.(*events.TaskCreated); ok {
				created.TaskID = fmt.Sprint("n", step)
				ids = append(ids, created.TaskID)
			}
			g.apply(data)
			if id := g.waitsForItself(ids); id != "" {
				t.Fatalf("seed %d, step %d: %s waits for itself after %#v", seed, step, id, command)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d refusals", refused)
	}
}

// wouldWaitForItself checks that a refused update would have made a task wait for itself.
func (g *ground) wouldWaitForItself(x *UpdateTask, ids []string, what string) {
	g.t.Helper()
	content, err := g.s.Encode()
	if err != nil {
		g.t.Fatal(err)
	}
	state, err := projections.Decode(content)
	if err != nil {
		g.t.Fatal(err)
	}
	apart := &ground{t: g.t, s: state}
	task := apart.s.Task(x.TaskID)
	wanted := unique(changedList(apart.s, task.Dependencies, x.Dependencies, x.AddDependencies, x.RemoveDependencies))
	data := &events.TaskUpdated{TaskID: x.TaskID, Dependencies: &wanted, ParentID: x.ParentID}
	if data.ParentID != nil && *data.ParentID == rootParent {
		root := ""
		data.ParentID = &root
	}
	apart.apply(data)
	if apart.waitsForItself(ids) == "" {
		g.t.Fatalf("%s, although nothing would wait for itself", what)
	}
}

// Rules before version 3 take no account of parents: a log that they wrote may hold what newer rules refuse.
func TestOlderRulesKnowNoCyclesThroughParents(t *testing.T) {
	for rules, refused := range map[string]bool{secondRules: false, RulesVersion: true} {
		g := newGround(t)
		g.task("whole", "")
		g.task("part", "whole")
		g.task("other", "", "whole")
		_, err := Decide(g.s, &UpdateTask{TaskID: "part", AddDependencies: []string{"other"}},
			called(Admin(AuthnToken), rules))
		if (err != nil) != refused {
			t.Errorf("by rules %s: %v", rules, err)
		}
	}
}
