package oracle

import (
	"maps"
	"slices"
)

// Clone returns a Judge that has seen the same lines. Afterwards the two are independent.
func (j *Judge) Clone() *Judge {
	c := *j
	c.verdict.Faults = slices.Clone(j.verdict.Faults)
	c.roots = maps.Clone(j.roots)
	c.projects = copied(j.projects, func(*project) {})
	c.tasks = copied(j.tasks, func(t *task) {
		t.words, t.children = maps.Clone(t.words), slices.Clip(t.children)
	})
	c.sessions = copied(j.sessions, func(s *session) { s.held, s.mail = maps.Clone(s.held), maps.Clone(s.mail) })
	c.questions = copied(j.questions, func(*question) {})
	c.tokens = copied(j.tokens, func(*token) {}) // the creator of a token is kept as it was then
	c.templates = copied(j.templates, func(*template) {})
	c.origins = copied(j.origins, func(o *tokenOrigins) { o.addresses = slices.Clone(o.addresses) })
	c.redacted = maps.Clone(j.redacted)
	c.webhooks = copied(j.webhooks, func(*webhook) {})
	moved := map[*item]*item{}
	c.queues = copied(j.queues, func(q *queue) { q.move(moved) })
	for _, s := range c.sessions {
		s.holds = moved[s.holds]
	}
	for _, t := range c.tasks {
		dependents := make(map[string]*task, len(t.dependents))
		for id := range t.dependents {
			dependents[id] = c.tasks[id]
		}
		t.dependents = dependents
	}
	c.order = j.order.clone()
	c.former = maps.Clone(j.former)
	return &c
}

// copied copies a map and its values, and calls apart to make each copy independent.
func copied[K comparable, V any](from map[K]*V, apart func(*V)) map[K]*V {
	to := make(map[K]*V, len(from))
	for key, value := range from {
		it := *value
		apart(&it)
		to[key] = &it
	}
	return to
}

// move gives the copy of a queue its own items, and notes the copy of each.
func (q *queue) move(moved map[*item]*item) {
	items := make(map[string]*item, len(q.items))
	for task, i := range q.items {
		it := *i
		it.queue, it.holders = q, slices.Clip(i.holders)
		items[task], moved[i] = &it, &it
	}
	q.items, q.front, q.back = items, others(q.front, moved), others(q.back, moved)
}

// others returns the copies of items.
func others(items []*item, moved map[*item]*item) []*item {
	became := make([]*item, len(items))
	for n, i := range items {
		became[n] = moved[i]
	}
	return became
}

func (o order) clone() order {
	siblings := make(map[string][]string, len(o.siblings))
	for project, tasks := range o.siblings {
		siblings[project] = slices.Clip(tasks)
	}
	return order{
		siblings:  siblings,
		projects:  slices.Clip(o.projects),
		tasks:     slices.Clip(o.tasks),
		sessions:  slices.Clip(o.sessions),
		questions: slices.Clip(o.questions),
		templates: slices.Clip(o.templates),
		webhooks:  slices.Clip(o.webhooks),
		queues:    slices.Clip(o.queues),
	}
}
