package oracle

import (
	"fmt"
	"strings"
	"testing"
)

// ids gives a JSON list of n ids with a prefix.
func ids(prefix string, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (s *story) tasks(prefix string, n int) {
	for i := range n {
		s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"%s%d","title":"X"}`, prefix, i))
	}
}

func (s *story) chain(prefix string, n int, options ...option) {
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`,"parentId":"%s%d"`, prefix, i-1)
		}
		s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"%s%d","title":"X"%s}`, prefix, i, parent), options...)
	}
}

// object gives a JSON object with n names.
func object(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"n%d":1`, i)
	}
	return "{" + strings.Join(names, ",") + "}"
}

// overLimit are events above a limit, with what they need before them.
var overLimit = []struct {
	name        string
	before      func(s *story)
	short, data string
}{
	{
		"a task with too many dependencies", func(s *story) { s.tasks("d", 201) }, "task.created",
		`{"taskId":"x","title":"X","dependencies":` + ids("d", 201) + `}`,
	},
	{
		"a task that is updated to too many", func(s *story) { s.tasks("d", 201) }, "task.updated",
		`{"taskId":"a","dependencies":` + ids("d", 201) + `}`,
	},
	{
		"a task too deep", func(s *story) { s.chain("c", 100) }, "task.created",
		`{"taskId":"x","title":"X","parentId":"c99"}`,
	},
	{"one task too many that waits", func(s *story) {
		for i := range 1000 {
			s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"w%d","title":"X","dependencies":["a"]}`, i))
		}
	}, "task.created", `{"taskId":"x","title":"X","dependencies":["a"]}`},
	{"too many criteria", nothing, "task.created", `{"taskId":"x","title":"X","acceptanceCriteria":` + ids("c", 1001) +
		`}`},
	{"long metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":{"a":"` + strings.Repeat("x",
		64<<10) + `"}}`},
	{"wide metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":{"a":[` + object(1001) + `]}}`},
	{"deep metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":` + strings.Repeat(`{"a":`, 64) +
		"[]" + strings.Repeat("}", 64) + `}`},
	{"a large environment", nothing, "session.updated", `{"sessionId":"work","env":` + strings.ReplaceAll(object(201),
		":1", `:"1"`) + `}`},
}

func limitPlants() []plant {
	var list []plant
	for _, o := range overLimit {
		list = append(
			list, plant{o.name, broken(ruleLimit), o.before, func(s *story) { s.add(admin, o.short, o.data) }},
		)
	}
	return list
}

// What the rules before the limits let through is no fault.
func TestOlderRulesHaveNoLimits(t *testing.T) {
	for _, o := range overLimit {
		s := base(t)
		o.before(s)
		s.add(admin, o.short, o.data, with("rules", "2"))
		noFault(t, s)
	}
	s := base(t)
	s.chain("c", 150, with("rules", "2"))
	noFault(t, s)
}

// What is at a limit is no fault.
func TestLimitsThemselvesAreNoFault(t *testing.T) {
	s := base(t)
	s.tasks("d", 200)
	s.chain("c", 100)
	s.add(admin, "task.created", `{"taskId":"x","title":"X","dependencies":`+ids("d", 200)+`,"metadata":{"a":[`+
		object(1000)+`]}}`)
	s.add(admin, "task.created", `{"taskId":"y","title":"X","metadata":`+strings.Repeat(`{"a":`,
		63)+"[]"+strings.Repeat("}", 63)+`}`)
	noFault(t, s)
}
