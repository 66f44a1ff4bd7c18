package manifest

import (
	"errors"
	"regexp"
	"slices"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/lazyregexp"
)

// relations checks what involves several parts of the document. It uses only valid parts, so that one mistake is one
// fault.
func (p *parser) relations() {
	p.legacyMembers()
	role, strategy := p.roleAndStrategy()
	p.emptyTasks(role, strategy)
	p.allowedCommands(role, strategy)
	p.agentAndModel()
	p.tasks()
}

// relate adds a fault of a located text; its pointer is only created if the fault is kept.
func (p *parser) relate(l located, pointer func(located) string, message func() string) {
	p.faults.add(int(l.at), func() string { return pointer(l) }, message)
}

func at(pointer string) func(located) string { return func(located) string { return pointer } }

// inTask returns the pointer of a member of a located text's task.
func inTask(member string) func(located) string {
	return func(l located) string {
		if l.task == noTask {
			return "/task" + member
		}
		return "/tasks/" + strconv.Itoa(int(l.task)) + member
	}
}

func (p *parser) first(u use) (located, bool) {
	if len(p.found[u]) == 0 {
		return located{}, false
	}
	return p.found[u][0], true
}

func (p *parser) legacyMembers() {
	task, single := p.first(useTask)
	if _, many := p.first(useTasks); single && many {
		p.relate(task, at("/task"),
			func() string { return `cannot stand beside "tasks", which took its place; put it there` })
	}
}

// roleAndStrategy returns both, resolved, or "" for an unknown one.
func (p *parser) roleAndStrategy() (events.Role, events.Strategy) {
	said, ok := p.first(useRole)
	if !ok {
		return "", ""
	}
	role := events.Role(said.text)
	resolved, err := commands.ResolveStrategy(role, "")
	if err != nil {
		return role, ""
	}
	var before *located
	for _, member := range []struct {
		use     use
		pointer string
	}{{useStrategy, "/strategy"}, {useOrchestratorStrategy, "/orchestratorStrategy"}} {
		written, ok := p.first(member.use)
		if !ok {
			continue
		}
		strategy, err := commands.ResolveStrategy(role, events.Strategy(written.text))
		switch {
		case err != nil:
			p.relate(written, at(member.pointer), func() string {
				return reason(err) + ", not " +
					quoted(written.text)
			})
			resolved = ""
		case before != nil && resolved != "" && strategy != resolved:
			p.relate(written, at(member.pointer), func() string {
				return `says another strategy than "strategy", ` + quoted(before.text) + "; leave it out"
			})
		case before == nil:
			resolved = strategy
		}
		before = &written
	}
	return role, resolved
}

// reason returns the text of a refusal.
func reason(err error) string {
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		return refusal.Message
	}
	return err.Error()
}

func (p *parser) emptyTasks(role events.Role, strategy events.Strategy) {
	tasks, ok := p.first(useTasks)
	if !ok || tasks.item > 0 {
		return
	}
	// If role or strategy is wrong, the intended one might have permitted it.
	if role == events.RoleOrchestrator || strategy != "" && strategy != events.StrategyQueue {
		p.relate(tasks, at("/tasks"),
			func() string { return `must not be empty; only a worker with the strategy "queue" may have no tasks` })
	}
}

// columns returns the columns of the permission table for a session with this role and strategy.
func columns(role events.Role, strategy events.Strategy) []commands.RoleSet {
	switch {
	case role == "":
		return []commands.RoleSet{
			commands.RoleWorker,
			commands.RoleQueueWorker,
			commands.RoleTreeWorker,
			commands.RoleOrchestrator,
		}
	case role == events.RoleWorker && strategy == "":
		return []commands.RoleSet{commands.RoleWorker, commands.RoleQueueWorker, commands.RoleTreeWorker}
	}
	return []commands.RoleSet{commands.RoleSetOf(role, strategy)}
}

func (p *parser) allowedCommands(role events.Role, strategy events.Strategy) {
	may := columns(role, strategy)
	for _, entry := range p.found[useCommand] {
		if slices.ContainsFunc(may, func(who commands.RoleSet) bool {
			return commands.CurrentRules().MayList(who,
				entry.text) == ""
		}) {
			continue
		}
		p.relate(entry, func(l located) string { return "/session/allowedCommands/" + strconv.Itoa(int(l.item)) },
			func() string {
				why := commands.CurrentRules().MayList(may[0], entry.text)
				if _, known := commands.CurrentRules().Row(entry.text); !known {
					return quoted(entry.text) + " cannot be allowed: " + why
				}
				return quoted(entry.text) + " cannot be allowed to a session in the column of " + may[0].String() +
					": " + why + "; leave it out"
			})
	}
}

// makers are the beginnings of the full names of an agent's models, possibly after a hosting prefix:
// us.anthropic.claude-….
var makers = map[string]func() *regexp.Regexp{
	"claude": lazyregexp.New(`(^|[._:/@-])claude-`),
	"codex":  lazyregexp.New(`(^|[._:/@-])(gpt-|codex-|o[1-9])`),
	"gemini": lazyregexp.New(`(^|[._:/@-])gemini-`),
}

// defaultAgent is the agent of a session that names none.
const defaultAgent = "claude"

var shortModels = []string{"sonnet", "opus", "haiku"}

// agentAndModel: a full model name must belong to the agent's maker, so that a mistake shows before the agent starts.
// Nothing is known about an agent that is configured here.
func (p *parser) agentAndModel() {
	name := defaultAgent
	if agent, ok := p.first(useAgent); ok {
		name = agent.text
		if !slices.Contains(p.agents, name) && !p.anyAgent {
			p.relate(agent, at("/session/agent"), func() string {
				return "must be " + choice(p.agents) + ", or one that is configured, not " + quoted(name)
			})
		}
	}
	model, ok := p.first(useModel)
	if !ok || slices.Contains(shortModels, model.text) {
		return
	}
	plausible := false
	switch maker := makers[name]; {
	case maker != nil:
		plausible = maker().MatchString(model.text)
	case name == "auto":
		for _, maker := range makers {
			plausible = plausible || maker().MatchString(model.text)
		}
	default:
		plausible = true
	}
	if !plausible {
		p.relate(model, at("/session/model"), func() string {
			return "must be " + choice(shortModels) + ", or the full name of a model that " + name + " runs, not " +
				quoted(model.text)
		})
	}
}

// tasks checks the tasks' ids, and that neither dependencies nor parents form a cycle.
func (p *parser) tasks() {
	byID := make(map[string]int32, len(p.found[useID]))
	for _, id := range p.found[useID] {
		if first, taken := byID[id.text]; taken {
			p.relate(id, inTask("/id"), func() string {
				return "the id " + quoted(id.text) + " is taken by the task at " + inTask("")(located{task: first}) +
					"; ids are unique"
			})
			continue
		}
		byID[id.text] = id.task
	}
	p.circles(p.found[useDependency], byID, "depends on", func(l located) string {
		return inTask("/dependencies/" + strconv.Itoa(int(l.item)))(l)
	})
	p.circles(p.found[useParent], byID, "is below", inTask("/parentId"))
}

// circles follows the edges between tasks, without recursion because a chain may be as long as the document, and adds a
// fault at each edge that closes a cycle.
func (p *parser) circles(edges []located, byID map[string]int32, verb string, pointer func(located) string) {
	// The edges of a task are adjacent, as in its list.
	from := map[int32]int{}
	for i, edge := range edges {
		if _, ok := from[edge.task]; !ok {
			from[edge.task] = i
		}
	}
	const (
		open = iota + 1
		done
	)
	type visit struct {
		task int32
		next int
	}
	state := make(map[int32]uint8, len(from))
	var stack []visit
	for _, edge := range edges {
		if state[edge.task] != 0 {
			continue
		}
		state[edge.task] = open
		stack = append(stack[:0], visit{edge.task, from[edge.task]})
		for len(stack) > 0 {
			here := &stack[len(stack)-1]
			if here.next >= len(edges) || edges[here.next].task != here.task {
				state[here.task] = done
				stack = stack[:len(stack)-1]
				continue
			}
			along := edges[here.next]
			here.next++
			to, inside := byID[along.text]
			if !inside {
				continue
			}
			switch state[to] {
			case open:
				p.relate(along, pointer, func() string {
					begin := slices.IndexFunc(stack, func(v visit) bool { return v.task == to })
					const most = 6
					said := "closes a circle: " + quoted(along.text)
					for i, v := range stack[begin:] {
						if i == most {
							said += " …"
							break
						}
						said += " " + verb + " " + quoted(edges[v.next-1].text)
					}
					return said
				})
			case 0:
				if next, leads := from[to]; leads {
					state[to] = open
					stack = append(stack, visit{to, next})
				}
			}
		}
	}
}
