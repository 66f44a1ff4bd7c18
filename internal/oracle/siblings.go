package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"maestro/internal/lazyregexp"
)

const (
	// maxBeside is how many places next to a sibling are searched for the task that is put there.
	maxBeside = 200
	// wholeKey is the number of digits of a key before its fraction.
	wholeKey = 16
)

// maxOrderKey is the maximum length of the key of a place among siblings, if the tasks there keep their keys.
var maxOrderKey = 256

// LimitOrderKey sets that limit, for a test that cannot create a log with so many moves. Call it before any Judge is
// used.
func LimitOrderKey(n int) { maxOrderKey = n }

// siblingOrder is a place among siblings. The documents do not determine the key of a command's result.
type siblingOrder struct {
	Key    string `json:"key"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Respaced says that all tasks there get new keys, which the documents do determine.
	Respaced bool `json:"respaced,omitempty"`
	open     bool
}

func (o *siblingOrder) sibling() string {
	if o.After != "" {
		return o.After
	}
	return o.Before
}

var orderKeys = lazyregexp.New(`^[0-9a-f]{16}([0-9a-f]*[1-9a-f])?$`)

// shownBelow returns the parent below which a task is shown: "" if that was deleted.
func (j *Judge) shownBelow(t *task) string {
	if p := j.tasks[t.parent]; p == nil || p.deleted {
		return ""
	}
	return t.parent
}

// key returns the sort key of a task's place.
func (t *task) key() string {
	if t.orderKey != "" {
		return t.orderKey
	}
	return fmt.Sprintf("8%015x", t.created)
}

// placed returns the tasks of a project, in sibling order, after one of them is put next to another.
func (j *Judge) placed(t *task, o *siblingOrder) []string {
	others := slices.DeleteFunc(slices.Clone(j.order.siblings[t.project]), func(id string) bool { return id == t.id })
	at := slices.Index(others, o.sibling())
	if at < 0 { // the log is faulty
		at = len(others)
	} else if o.After != "" {
		at++
	}
	return slices.Insert(others, at, t.id)
}

// siblings judges the place among its siblings that a task gets.
func (f *taskUpdated) siblings(c *trial, t *task) {
	o := f.Order
	if o == nil || t == nil {
		return
	}
	parent := c.shownBelow(t)
	if f.ParentID != nil {
		parent = *f.ParentID
	}
	other := c.tasks[o.sibling()]
	switch {
	case o.Before != "" && o.After != "":
		c.fault(ruleTask, "task %s cannot move both before and after a sibling", t.id)
		return
	case other == nil || other.deleted || other == t || other.project != t.project || c.shownBelow(other) != parent:
		c.fault(ruleTask, "task %s cannot move next to %q, which is not a sibling", t.id, o.sibling())
		return
	case o.open:
		return
	}
	if !orderKeys().MatchString(o.Key) || len(o.Key) > maxOrderKey && !o.Respaced {
		c.fault(ruleTask, "%q is not a valid key for the order of siblings", o.Key)
	}
	all := c.placed(t, o)
	at := slices.Index(all, t.id)
	if o.Respaced && len(o.Key) > wholeKey {
		if want := c.respaced(t, o)[t.id]; o.Key != want {
			c.fault(ruleTask, "the key %q of task %s is not %q, which it has once all keys there are new", o.Key, t.id,
				want)
		}
		return
	}
	if at > 0 && c.tasks[all[at-1]].key() >= o.Key || at+1 < len(all) && c.tasks[all[at+1]].key() <= o.Key {
		c.fault(ruleTask, "key %q does not place task %s next to %s", o.Key, t.id, o.sibling())
	}
}

// respaced returns the new keys of the tasks of a project whose keys have the first 16 digits of a key and a fraction,
// and of the task that is moved among them.
func (j *Judge) respaced(t *task, o *siblingOrder) map[string]string {
	whole := o.Key[:wholeKey]
	var crowd []string
	for _, id := range j.placed(t, o) {
		if key := j.tasks[id].key(); id == t.id || len(key) > wholeKey && strings.HasPrefix(key, whole) {
			crowd = append(crowd, id)
		}
	}
	keys := map[string]string{}
	step := uint64(math.MaxUint32+1) / uint64(len(crowd)+1)
	for i, id := range crowd {
		keys[id] = strings.TrimRight(fmt.Sprintf("%s%08x", whole, uint64(i+1)*step), "0")
	}
	return keys
}

// wantedOrder returns the place among its siblings that an update requests, nil if the task has it.
func (a *asked) wantedOrder(t *task, parent *string) *siblingOrder {
	o := &siblingOrder{Before: a.f.Before, After: a.f.After, open: true}
	if o.sibling() == "" {
		return nil
	}
	if o.Before != "" && o.After != "" {
		a.refuse(codeInvalid)
		return nil
	}
	other := a.liveTask(o.sibling())
	below := a.shownBelow(t)
	if parent != nil {
		below = *parent
	}
	if other != nil && (other == t || other.project != t.project || a.shownBelow(other) != below) {
		a.refuse(codeInvalid)
	}
	if a.refused() || a.standsNext(t, other, o.After != "") {
		return nil
	}
	return o
}

// standsNext reports whether a task is the next sibling of another one on a side.
func (j *Judge) standsNext(t, other *task, after bool) bool {
	all := j.order.siblings[t.project]
	step := -1
	if after {
		step = 1
	}
	at := slices.Index(all, other.id)
	for i := at + step; i >= 0 && i < len(all) && (i-at)*step <= maxBeside; i += step {
		next := j.tasks[all[i]]
		if !next.deleted && (next == t || j.shownBelow(next) == j.shownBelow(other)) {
			return next == t && j.shownBelow(t) == j.shownBelow(other)
		}
	}
	return false
}
