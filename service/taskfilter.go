package service

import (
	"slices"
	"strings"
	"unicode/utf8"

	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// searchMost is the maximum length of a searched text, in characters, and wordsMost the maximum number of different
	// words in it.
	searchMost = 200
	wordsMost  = 8
	// textPerStep is how many bytes of text cost as much as one look-up, for each word that is searched in them.
	textPerStep = 128
	// fieldBytes is the cost of searching a field in addition to its text, in bytes.
	fieldBytes = 32
	// namesPerStep is how many names in a list cost as much as one look-up.
	namesPerStep = 10
)

// rootTasks is the value for the parent of tasks without one.
const rootTasks = "null"

// inDependencyOrder names the order in which each task follows its dependencies.
const inDependencyOrder = "dependencies"

// inCompletionOrder names the order in which tasks can be completed.
const inCompletionOrder = "completion"

// inSiblingOrder names the order of siblings.
const inSiblingOrder = "siblings"

// byDependency reports whether a list is in an order in which tasks follow others.
func byDependency(f *wire.TaskFilter) bool {
	return f.Order == inDependencyOrder || f.Order == inCompletionOrder
}

// unknownOrder refuses an order that is not one of these.
func unknownOrder(order string, known ...string) error {
	return Invalid("/order", "'%s' is not an order here; it is %s, or left out",
		safetext.Printable(order), strings.Join(known, ", "))
}

// checkListOrder refuses an order that lists of tasks do not have. Siblings of several projects have no order.
func checkListOrder(in *wire.TaskFilter) error {
	switch {
	case in.Order == "", byDependency(in):
		return nil
	case in.Order != inSiblingOrder:
		return unknownOrder(in.Order, inDependencyOrder, inCompletionOrder, inSiblingOrder)
	case in.ProjectID == "":
		return Invalid("/order", "siblings is an order of the tasks of one project; name it with projectId")
	}
	return nil
}

// taskFilter selects the tasks of a list. The zero value selects all.
type taskFilter struct {
	wire.TaskFilter

	// ids are those of which a task has one; nil for all.
	ids map[string]bool
	// words are searched for, in lower case.
	words []string
	// walked is called with each examined task; it may be nil.
	walked func(*projections.Task)
}

func filterOf(in *wire.TaskFilter) (*taskFilter, error) {
	if err := checkListOrder(in); err != nil {
		return nil, err
	}
	for _, flag := range [][2]string{{"ready", in.Ready}, {"planned", in.Planned}, {"unconfirmed", in.Unconfirmed}} {
		if name, value := flag[0], flag[1]; value != "" && value != "true" {
			return nil, Invalid("/"+name, "'%s' is not a value of %s; it is true, or left out",
				safetext.Printable(value), name)
		}
	}
	if n := utf8.RuneCountInString(in.Search); n > searchMost {
		return nil, Invalid("/search", "a search has at most %d characters, this has %d", searchMost, n)
	}
	words := strings.Fields(strings.ToLower(in.Search))
	slices.Sort(words)
	if words = slices.Compact(words); len(words) > wordsMost {
		return nil, Invalid("/search", "a search has at most %d different words, this has %d", wordsMost, len(words))
	}
	filter := &taskFilter{TaskFilter: *in, words: words}
	if in.IDs != "" {
		if n := 1 + strings.Count(in.IDs, ","); n > wire.TaskIDsMost {
			return nil, Invalid("/ids", "a list of tasks takes at most %d ids, this has %d", wire.TaskIDsMost, n)
		}
		filter.ids = map[string]bool{}
		for id := range strings.SplitSeq(in.IDs, ",") {
			filter.ids[id] = true
		}
	}
	return filter, nil
}

// stands checks the conditions that need the state, and those that cost nothing.
func (f *taskFilter) stands(v View, t *projections.Task) bool {
	if f.walked != nil {
		f.walked(t)
	}
	if f.ids != nil && !f.ids[t.ID] {
		return false
	}
	parent := t.ParentID
	if parent == "" {
		parent = rootTasks
	}
	if f.Status != "" && f.Status != string(t.Status) || f.ParentID != "" && f.ParentID != parent ||
		f.Priority != "" && f.Priority != t.Priority || f.PlanID != "" && f.PlanID != t.PlanID ||
		f.Planned != "" && t.PlanID == "" || !strings.HasPrefix(t.ID, f.IDPrefix) {
		return false
	}
	if f.SessionStatus != "" || f.Unconfirmed != "" {
		says, _ := v.SessionStatus(t)
		if f.SessionStatus != "" && f.SessionStatus != string(says) ||
			f.Unconfirmed != "" && !projections.Unconfirmed(says, t.Status) {
			return false
		}
	}
	return f.Ready == "" || v.Startable(t)
}

// holds searches the lists and the texts of a task, which do not change: it may run without the state. It returns the
// steps that this takes.
func (f *taskFilter) holds(t *projections.Task) (kept bool, steps int) {
	if f.Label != "" {
		steps += len(t.Labels) / namesPerStep
		if !slices.Contains(t.Labels, f.Label) {
			return false, steps
		}
	}
	if f.SessionID != "" {
		steps += len(t.SessionIDs) / namesPerStep
		if !slices.Contains(t.SessionIDs, f.SessionID) {
			return false, steps
		}
	}
	if len(f.words) == 0 {
		return true, steps
	}
	kept, searched := f.holdsWords(t)
	return kept, steps + searched/textPerStep
}

// holdsWords reports whether every word occurs in the task's title, description, labels or plan id, in any case, and
// how many bytes it searched. It searches only the beginning of a long description, which the task holds.
func (f *taskFilter) holdsWords(t *projections.Task) (all bool, searched int) {
	missing := slices.Clone(f.words)
	search := func(text string) {
		if len(missing) == 0 || text == "" {
			return
		}
		searched += (len(text) + fieldBytes) * (1 + len(missing))
		text = strings.ToLower(text)
		missing = slices.DeleteFunc(missing, func(word string) bool { return strings.Contains(text, word) })
	}
	search(t.Title)
	search(t.PlanID)
	search(t.Description)
	for _, label := range t.Labels {
		search(label)
	}
	return len(missing) == 0, searched
}
