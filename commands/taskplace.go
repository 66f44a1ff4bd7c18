package commands

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"maestro/internal/safetext"
	"maestro/projections"
)

// maxPlanID is the maximum length of a plan id, in characters.
const maxPlanID = maxID

// rootParent is the value for no parent.
const rootParent = "null"

// parentIn refuses a parent that does not exist or is in another project; "" is none.
func parentIn(s *projections.State, project, id string) error {
	if id == "" {
		return nil
	}
	if err := ValidID("/parentId", id); err != nil {
		return err
	}
	parent := s.Task(id)
	if parent == nil {
		return notFound("Parent task", id)
	}
	if parent.ProjectID != project {
		return elsewhere("/parentId", "Parent task", parent.ID, project)
	}
	return nil
}

// planIDIn refuses a plan id that another task of the project has, or that is another task's own id; task is "" for a
// new one.
func planIDIn(s *projections.State, c Call, project, task, id string) error {
	if err := ValidLine("/planId", id, maxPlanID); err != nil {
		return err
	}
	if strings.ContainsFunc(id, unicode.IsSpace) {
		return invalid("/planId", "the plan id '%s' contains a space", safetext.Printable(id))
	}
	if thirdOn(c.Rules) {
		if err := notOwnID(s, task, id); err != nil {
			return err
		}
	}
	other := s.Planned(project, id)
	if other == nil || other.ID == task {
		return nil
	}
	return &Refusal{
		Code:    CodeConflict,
		Pointer: "/planId",
		Message: "Task " + other.ID + " has the plan id '" + safetext.Printable(id) + "' already",
		Why:     "an id of a plan names one task of the project",
		Next:    "update that task with `maestro task update " + other.ID + "`, or choose another id",
	}
}

// notOwnID refuses a plan id that is the own id of another task, of any project, or that may become one: an exported
// plan uses a task's own id if it has no plan id.
func notOwnID(s *projections.State, task, id string) error {
	other := s.TaskEver(id)
	if !IsTaskID(id) && (other == nil || other.ID == task) {
		return nil
	}
	return &Refusal{
		Code:    CodeConflict,
		Pointer: "/planId",
		Message: "The plan id '" + safetext.Printable(id) + "' is the id of a task, or may become one",
		Why:     "an exported plan names a task that has no plan id by its own id",
		Next:    "choose another id",
	}
}

// validLabels trims labels and removes duplicates.
func validLabels(given []string) ([]string, error) {
	kept := make([]string, 0, len(given))
	for _, label := range given {
		label = strings.TrimSpace(label)
		if label == "" {
			return nil, invalid("/labels", "a label is empty")
		}
		if strings.Contains(label, ",") {
			return nil, invalid("/labels", "the label '%s' contains a comma", safetext.Printable(label))
		}
		if err := ValidLine("/labels", label, MaxName); err != nil {
			return nil, err
		}
		kept = append(kept, label)
	}
	return unique(kept), nil
}

// labels returns the task's labels after an update, nil if the update does not change them.
func (x *UpdateTask) labels(s *projections.State, t *projections.Task) (*[]string, error) {
	if x.Labels == nil && len(x.AddLabels) == 0 && len(x.RemoveLabels) == 0 {
		return nil, nil
	}
	wanted := changedList(s, t.Labels, x.Labels, x.AddLabels, x.RemoveLabels)
	for i, label := range wanted {
		wanted[i] = strings.TrimSpace(label)
	}
	wanted = unique(wanted)
	if len(wanted) > maxList {
		return nil, invalid("/labels", "at most %d entries, these are %d", maxList, len(wanted))
	}
	labels, err := validLabels(wanted)
	if labels == nil {
		labels = []string{} // the event says that there are none
	}
	return &labels, err
}

// place returns the parent and the dependencies that an update sets; nil for what it does not change.
func (x *UpdateTask) place(s *projections.State, c Call, t *projections.Task) (*string, *[]string, error) {
	g := graphOf(s, c)
	parent, above := x.ParentID, t.ParentID
	if parent != nil {
		above = *parent
		if above == rootParent {
			above = ""
		}
		parent = &above
		if err := parentIn(s, t.ProjectID, above); err != nil {
			return nil, nil, err
		}
	}
	dependencies := x.Dependencies
	if dependencies != nil || len(x.AddDependencies) > 0 || len(x.RemoveDependencies) > 0 {
		kept := unique(changedList(s, t.Dependencies, dependencies, x.AddDependencies, x.RemoveDependencies))
		if kept == nil {
			kept = []string{}
		}
		if dependencies == nil && int64(len(kept)) > LimitDependencies.Value {
			return nil, nil, LimitDependencies.exceeded("/addDependencies", "a task", int64(len(kept)))
		}
		dependencies = &kept
		if err := x.mayDepend(g, t, above, kept); err != nil {
			return nil, nil, err
		}
	}
	if parent != nil && above != t.ParentID {
		waitsFor := t.Dependencies
		if dependencies != nil {
			waitsFor = *dependencies
		}
		if err := g.moves(t, above, waitsFor); err != nil {
			return nil, nil, err
		}
	}
	return parent, dependencies, nil
}

// mayDepend checks dependencies. A caller that adds or removes some is not refused because of the others.
func (x *UpdateTask) mayDepend(g graph, t *projections.Task, parent string, kept []string) error {
	if x.Dependencies == nil || x.decided {
		has, added := setOf(t.Dependencies), setOf(x.AddDependencies)
		kept = slices.DeleteFunc(slices.Clone(kept), func(id string) bool { return has[id] && !added[id] })
	}
	err := g.dependencies(t.ProjectID, t.ID, parent, t.Dependencies, kept)
	var refusal *Refusal
	if x.Dependencies == nil && errors.As(err, &refusal) && refusal.Pointer == "/dependencies" {
		refusal.Pointer = "/addDependencies"
	}
	return err
}

// changedList returns a list after additions and removals: the given one, or the present one. It examines each entry
// once, and counts that.
func changedList(s *projections.State, has []string, given *[]string, add, remove []string) []string {
	if given != nil {
		has = *given
	}
	removed := setOf(remove)
	all := slices.Concat(has, add)
	bytes := 0
	for _, one := range all {
		bytes += len(one)
	}
	s.Worked((len(all)+len(remove))/setPerStep + bytes/textPerStep)
	return slices.DeleteFunc(all, func(one string) bool { return removed[one] })
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// moves refuses a new parent for a task if it is the task itself or below it, if the tree would be too deep, or if what
// moves waits for a task that would contain it.
func (g graph) moves(t *projections.Task, parent string, waitsFor []string) error {
	above := g.s.Above(parent)
	if above[t.ID] {
		refusal := invalid("/parentId", "Task '%s' cannot move below itself", t.ID)
		refusal.Why = "the new parent is the task itself, or below it"
		refusal.Next = "see `maestro task tree " + t.ID + "`, and name another"
		return refusal
	}
	most := g.most(LimitGraph)
	levels, looked := g.s.Height(t.ID, most)
	if looked > most {
		return LimitGraph.exceeded("/parentId", "what is below the task", 0)
	}
	deepest := int(LimitTaskDepth.Value)
	if depth := g.s.Depth(parent, deepest) + levels; parent != "" && depth > deepest {
		return LimitTaskDepth.exceeded("/parentId", "a tree of tasks", int64(depth))
	}
	steps := len(waitsFor)
	for _, id := range waitsFor {
		if above[id] {
			return circular("/parentId", dependNoMore(t.ID, id),
				"Task '%s' cannot move below '%s', which it waits for", t.ID, id)
		}
	}
	for _, below := range g.s.Descendants(t.ID, most) {
		dependencies := g.s.Task(below).Dependencies
		if steps += len(dependencies); steps > most {
			return LimitGraph.exceeded("/parentId", "what the tasks below it wait for", 0)
		}
		for _, id := range dependencies {
			if above[id] {
				return circular("/parentId", dependNoMore(below, id),
					"task '%s' is below it, and waits for '%s'", below, id)
			}
		}
	}
	return g.standsBelow(t, parent, waitsFor)
}

// dependNoMore advises to remove a dependency that a move would make circular.
func dependNoMore(task, dependency string) string {
	return "remove the dependency first: `maestro task update " + task + " --remove-depends-on " + dependency + "`"
}
