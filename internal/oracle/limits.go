package oracle

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The limits of docs/limits.md that a log can show. The rules before the third had none of them.
const (
	maxFree       = 64 << 10 // bytes of free JSON, and of an environment
	maxFreeNames  = 1000     // in one object
	maxFreeLevels = 64
	maxEnv        = 200
	maxTaskDepth  = 100
	maxDependents = 1000
)

// maxEntries are the longest lists, by the name of the payload's field.
var maxEntries = map[string]int{
	"dependencies":       200,
	"acceptanceCriteria": 1000,
	"skillIds":           1000,
	"agentIds":           1000,
	"skills":             1000,
	"taskIds":            1000,
	"projectIds":         1000,
	"options":            20,
	"descendants":        5000,
}

// hasLimits reports whether the event was decided by rules that have limits.
func (c *trial) hasLimits() bool { return !slices.Contains([]string{"1", "2"}, c.event.Rules) }

// limits judges the sizes of what a payload holds; those of what a registration made are one level down.
func (c *trial) limits(data json.RawMessage) {
	if !c.hasLimits() {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return // it is a fault already
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
		c.fault(ruleLimit, "%s has %d entries, and at most %d", name, len(list), most)
	}
}

func (c *trial) free(name string, value json.RawMessage) {
	if len(value) > maxFree {
		c.fault(ruleLimit, "%s has %d bytes, and at most %d", name, len(value), maxFree)
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	names := []int{0} // of the open objects and lists: what they hold, each name and value counted
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if names[len(names)-1]++; len(names) > maxFreeLevels {
				c.fault(ruleLimit, "%s is more than %d levels deep", name, maxFreeLevels)
				return
			}
			names = append(names, 0)
		case json.Delim('}'):
			if held := names[len(names)-1]; held > 2*maxFreeNames {
				c.fault(ruleLimit, "an object in %s has %d names, and at most %d", name, held/2, maxFreeNames)
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
		c.fault(ruleLimit, "an environment has %d variables of %d bytes, and at most %d of %d", len(env), size, maxEnv,
			maxFree)
	}
}

// deep judges how deep a new task is.
func (c *trial) deep(parent string) {
	levels := 1
	c.above(parent, func(string) bool { levels++; return c.hasLimits() && levels > maxTaskDepth })
	if c.hasLimits() && levels > maxTaskDepth {
		c.fault(ruleLimit, "it is more than %d levels deep", maxTaskDepth)
	}
}

// awaited judges how many wait for the tasks that one newly depends on.
func (c *trial) awaited(t *task, dependencies []string) {
	if !c.hasLimits() {
		return
	}
	for _, id := range dependencies {
		if d := c.tasks[id]; d != nil && (t == nil || !slices.Contains(t.dependencies, id)) &&
			d.dependents >= maxDependents {
			c.fault(ruleLimit, "%d tasks depend on %s already, which is all that may", d.dependents, id)
		}
	}
}

// depend moves the count of who depends on what.
func (j *Judge) depend(dependencies []string, by int) {
	for _, id := range dependencies {
		if d := j.tasks[id]; d != nil {
			d.dependents += by
		}
	}
}
