package oracle

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The limits of docs/limits.md that a log can show. The rules before version 3 had none of them.
const (
	maxFree       = 64 << 10 // bytes of free JSON, and of an environment
	maxFreeNames  = 1000     // in one object
	maxFreeLevels = 64
	maxEnv        = 200
	maxTaskDepth  = 100
	maxDependents = 1000

	maxAwaited      = 5000   // queued or held items of the tasks that depend on one
	maxTrusted      = 10_000 // such items in the queues of a project that trust reports
	maxDeletedItems = 10_000 // such items of the deleted tasks, and of those that depend on them
	maxFollowed     = 50_000 // dependencies of the deleted tasks, in both directions
)

// maxWords bounds the statements of sessions about the tasks that an event involves.
var maxWords = 50_000

// LimitWords sets that limit, for a test that cannot create a log with so many. Call it before any Judge is used.
func LimitWords(n int) { maxWords = n }

// maxEntries are the maximum lengths of lists, by the name of the payload's field.
var maxEntries = map[string]int{
	"dependencies":       200,
	"acceptanceCriteria": 1000,
	"skillIds":           1000,
	"agentIds":           1000,
	"skills":             1000,
	"labels":             1000,
	"types":              1000,
	"taskIds":            1000,
	"projectIds":         1000,
	"options":            20,
	"descendants":        5000,
}

// hasLimits reports whether the rules that decided the event have limits.
func (c *trial) hasLimits() bool { return !slices.Contains([]string{"1", "2"}, c.event.Rules) }

// limits judges the sizes of a payload's parts; those of a registration's details are one level down.
func (c *trial) limits(data json.RawMessage) {
	if !c.hasLimits() {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return // already reported as a fault
	}
	for name, value := range fields {
		switch name {
		case "metadata", "context", "data":
			c.free(name, value)
		case "env":
			c.env(value)
		case "created":
			c.limits(value)
		default:
			c.list(name, value)
		}
	}
}

func (c *trial) list(name string, value json.RawMessage) {
	most, bounded := maxEntries[name]
	var list []json.RawMessage
	if bounded && json.Unmarshal(value, &list) == nil && len(list) > most {
		c.fault(ruleLimit, "%s has %d entries; the limit is %d", name, len(list), most)
	}
}

func (c *trial) free(name string, value json.RawMessage) {
	if len(value) > maxFree {
		c.fault(ruleLimit, "%s has %d bytes; the limit is %d", name, len(value), maxFree)
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	names := []int{0} // the sizes of the open objects and lists, counting each name and value
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if names[len(names)-1]++; len(names) > maxFreeLevels {
				c.fault(ruleLimit, "%s is nested more than %d levels deep", name, maxFreeLevels)
				return
			}
			names = append(names, 0)
		case json.Delim('}'):
			if held := names[len(names)-1]; held > 2*maxFreeNames {
				c.fault(ruleLimit, "an object in %s has %d names; the limit is %d", name, held/2, maxFreeNames)
				return
			}
			names = names[:len(names)-1]
		case json.Delim(']'):
			names = names[:len(names)-1]
		default:
			names[len(names)-1]++
		}
	}
}

func (c *trial) env(value json.RawMessage) {
	var env map[string]string
	if json.Unmarshal(value, &env) != nil {
		return
	}
	size := 0
	for name, text := range env {
		size += len(name) + len(text)
	}
	if len(env) > maxEnv || size > maxFree {
		c.fault(ruleLimit, "the environment has %d variables of %d bytes; the limit "+
			"is %d variables of %d bytes", len(env), size, maxEnv,
			maxFree)
	}
}

// deep judges how deep a new task is.
func (c *trial) deep(parent string) {
	levels := 1
	c.above(parent, func(string) bool { levels++; return c.hasLimits() && levels > maxTaskDepth })
	if c.hasLimits() && levels > maxTaskDepth {
		c.fault(ruleLimit, "the task is nested more than %d levels deep", maxTaskDepth)
	}
}

// awaited judges the number of items that wait for new dependencies.
func (c *trial) awaited(t *task, dependencies []string) {
	if !c.hasLimits() {
		return
	}
	for _, id := range dependencies {
		if d := c.tasks[id]; d != nil && (t == nil || !slices.Contains(t.dependencies, id)) &&
			len(d.dependents) >= maxDependents {
			c.fault(ruleLimit, "%d tasks already depend on %s, which is the limit", len(d.dependents), id)
		}
	}
	if t == nil {
		return
	}
	for _, id := range dependencies {
		if d := c.tasks[id]; d != nil && d.dependents[t.id] == nil && t.open > 0 &&
			d.awaited+t.open > maxAwaited {
			c.fault(ruleLimit, "more than %d items would wait for task %s", maxAwaited, id)
		}
	}
	if t.open > 0 {
		c.spoken(slices.DeleteFunc(slices.Clone(dependencies), func(id string) bool {
			return slices.Contains(t.dependencies, id)
		}))
	}
}

// spoken judges the number of statements of sessions about tasks.
func (c *trial) spoken(tasks []string) {
	words := 0
	for _, id := range tasks {
		if t := c.tasks[id]; t != nil && !t.deleted {
			words += len(t.words)
		}
	}
	if c.hasLimits() && words > maxWords {
		c.fault(ruleLimit, "it reads %d reports of sessions; the limit is %d", words, maxWords)
	}
}

// enters judges the number of waiting items, and of items in queues that trust reports, when tasks enter a queue.
func (c *trial) enters(q *queue, tasks []string) {
	if !c.hasLimits() || len(tasks) == 0 {
		return
	}
	if q != nil && q.trust {
		n := len(tasks)
		for key, other := range c.queues {
			if key.project == c.event.Project && other.trust {
				n += other.open
			}
		}
		if n > maxTrusted {
			c.fault(ruleLimit, "%d items would be in queues that trust reports; the limit is %d", n, maxTrusted)
		}
	}
	var dependencies []string
	more := map[*task]int{}
	for _, id := range tasks {
		t := c.tasks[id]
		if t == nil {
			continue
		}
		for _, dependency := range t.dependencies {
			d := c.tasks[dependency]
			if d == nil {
				continue
			}
			if more[d]++; more[d] == 1 {
				more[d] += d.awaited
				dependencies = append(dependencies, d.id)
			}
			if more[d] == maxAwaited+1 {
				c.fault(ruleLimit, "more than %d items would wait for task %s", maxAwaited, d.id)
			}
		}
	}
	if q != nil && q.trust {
		c.spoken(dependencies)
	}
}

// takes judges the number of items and dependencies that a deletion involves.
func (c *trial) takes(tasks []string) {
	if !c.hasLimits() {
		return
	}
	items, followed := 0, 0
	for _, id := range tasks {
		if t := c.tasks[id]; t != nil {
			items += t.open + t.awaited
			followed += len(t.dependencies) + len(t.dependents)
		}
	}
	if items > maxDeletedItems || followed > maxFollowed {
		c.fault(ruleLimit,
			"%d items and %d dependencies wait for the tasks that it removes; the limits are %d and %d", items,
			followed, maxDeletedItems, maxFollowed)
	}
}

func (i *item) open() bool { return i.state == queued || i.state == processing }

// depend records a task's dependencies, or removes them.
func (j *Judge) depend(t *task, on bool) {
	for _, id := range t.dependencies {
		switch d := j.tasks[id]; {
		case d == nil:
		case on && d.dependents[t.id] == nil:
			d.dependents[t.id] = t
			d.awaited += t.open
		case !on && d.dependents[t.id] != nil:
			delete(d.dependents, t.id)
			d.awaited -= t.open
		}
	}
}
