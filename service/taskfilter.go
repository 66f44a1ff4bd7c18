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
	// searchMost is how long a text is that is searched for, in characters, and wordsMost how many different words it
	// has.
	searchMost = 200
	wordsMost  = 8
	// textPerStep is how many bytes of text cost as much as one look-up, each time that one word is searched in them.
	textPerStep = 128
	// fieldBytes is the cost of searching a field beside its text, in bytes.
	fieldBytes = 32
	// namesPerStep is how many names in a list cost as much as one look-up.
	namesPerStep = 10
)

// rootTasks is the word for the parent of tasks that have none.
const rootTasks = "null"

// inDependencyOrder names the order in which each task follows those that it depends on.
const inDependencyOrder = "dependencies"

// inSiblingOrder names the order in which siblings stand.
const inSiblingOrder = "siblings"

func byDependency(f *wire.TaskFilter) bool { return f.Order == inDependencyOrder }

func unknownOrder(order string) error {
	return Invalid("/order", "'%s' is not an order of tasks; it is dependencies, or left out",
		safetext.Printable(order))
}

// checkListOrder refuses an order that lists of tasks do not have. Siblings of several projects have none.
func checkListOrder(in *wire.TaskFilter) error {
	switch {
	case in.Order == "", byDependency(in):
		return nil
	case in.Order != inSiblingOrder:
		return Invalid("/order", "'%s' is not an order of tasks; it is dependencies, siblings, or left out",
			safetext.Printable(in.Order))
	case in.ProjectID == "":
		return Invalid("/order", "siblings is an order of the tasks of one project; name it with projectId")
	}
	return nil
}

// taskFilter says which tasks a list leaves. The zero value leaves all.
type taskFilter struct {
	wire.TaskFilter

	// words are searched for, in lower case.
	words []string
	// walked is called with each task that is looked at; may be nil.
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
	return &taskFilter{TaskFilter: *in, words: words}, nil
}

// stands answers what must be asked while the state stands still, and what costs nothing.
func (f *taskFilter) stands(v View, t *projections.Task) bool {
	if f.walked != nil {
		f.walked(t)
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

// holds searches the lists and the texts of a task, which do not change: the state may move. It returns the steps that
// this takes.
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

// holdsWords reports whether every word is in the task's title, description, labels or plan id, in any case, and how
// many bytes it looked at. Of a long description only the beginning is searched, which the task holds.
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
