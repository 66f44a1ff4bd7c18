package api

import (
	"container/heap"
	"container/list"

	"maestro/service"
)

// crowd orders connections by who gives way to a new one. It looks at none of them to find the next: the connections of
// a holder stand in a line, the longest idle first; the holders of a project in a heap, the one with the most
// connections first; and so do the projects, by their share.
type crowd struct {
	all, free int
	groups    map[groupKey]*group
	pools     map[string]*pool
	ranks     [standings]ranking[*pool]
	// steps counts the comparisons.
	steps int
}

// rooms is the fraction of the connections that calls of sessions leave to new clients: 1/rooms.
const rooms = 8

// standing is what a connection is used for, for the order in which connections give way.
type standing int

const (
	ofEnded   standing = iota // no call, and its session has ended
	idle                      // no call
	ofSession                 // a call of a session
	ofReader                  // a call of a reader
	standings
	stays // a call of an admin
)

// standingOf returns the standing of a connection.
func standingOf(c *connection) standing {
	switch {
	case !c.busy && c.holder.ended:
		return ofEnded
	case !c.busy:
		return idle
	case c.holder.class == service.ClassSession:
		return ofSession
	case c.holder.class == service.ClassReader:
		return ofReader
	}
	return stays
}

// place is where a connection stands in a crowd. The zero value stands nowhere.
type place struct {
	group    *group
	standing standing
	// at is nil for a connection that stays.
	at *list.Element
}

type groupKey struct{ credential, project string }

// group are the connections of one credential.
type group struct {
	key   groupKey
	pool  *pool
	count int
	lines [standings]list.List
	at    [standings]int
}

// pool are the groups of one project.
type pool struct {
	project string
	// shared says that they are sessions: many connections of one count as much as many sessions of one project.
	shared bool
	count  int
	ranks  [standings]ranking[*group]
	at     [standings]int
}

func newCrowd() *crowd {
	w := &crowd{groups: map[groupKey]*group{}, pools: map[string]*pool{}}
	for s := range standings {
		w.ranks[s] = ranking[*pool]{of: s, steps: &w.steps}
	}
	return w
}

// put places a connection, which may stand in the crowd already, behind those that were placed before. The place is the
// connection's place in this crowd. Each heap changes by one item at a time.
func (w *crowd) put(p *place, c *connection) {
	if p.group != nil && p.group.key == keyOf(c.holder) {
		w.leaveLine(*p)
	} else {
		w.remove(p)
		w.all++
		p.group = w.groupOf(c.holder)
		p.group.count++
		p.group.pool.count++
	}
	p.standing, p.at = standingOf(c), nil
	if !c.busy {
		w.free++
	}
	if p.standing < standings {
		p.at = p.group.lines[p.standing].PushBack(c)
	}
	w.order(p.group)
}

// remove takes a connection out of the crowd.
func (w *crowd) remove(p *place) {
	g := p.group
	if g == nil {
		return
	}
	w.all--
	w.leaveLine(*p)
	*p = place{}
	g.count--
	g.pool.count--
	w.order(g)
	if g.count == 0 {
		delete(w.groups, g.key)
	}
	if g.pool.count == 0 {
		delete(w.pools, g.pool.project)
	}
}

// leaveLine takes a connection out of its line. The caller orders its group.
func (w *crowd) leaveLine(p place) {
	if p.standing == idle || p.standing == ofEnded {
		w.free--
	}
	if p.at != nil {
		p.group.lines[p.standing].Remove(p.at)
	}
}

func keyOf(h holder) groupKey { return groupKey{h.credential, h.project} }

func (w *crowd) groupOf(h holder) *group {
	key := keyOf(h)
	if g := w.groups[key]; g != nil {
		return g
	}
	p := w.pools[h.project]
	if p == nil {
		p = &pool{project: h.project, shared: h.class == service.ClassSession}
		for s := range standings {
			p.ranks[s] = ranking[*group]{of: s, steps: &w.steps}
		}
		w.pools[h.project] = p
	}
	g := &group{key: key, pool: p}
	w.groups[key] = g
	return g
}

// order puts a group, and its pool, where they belong after a change.
func (w *crowd) order(g *group) {
	p := g.pool
	for s := range standings {
		p.ranks[s].place(g, g.lines[s].Len() > 0)
		w.ranks[s].place(p, p.ranks[s].Len() > 0)
	}
}

// leastDue returns the connection to close so that another gets in: one of a session that has ended, or else one that
// serves no call, or else a call of a session, or else one of a reader. Among those it prefers the credential and
// project with the most connections, and then the longest idle. Calls of sessions come first once they leave hardly any
// other connections, because otherwise new clients would only close each other. It returns nil if all serve calls of
// admins.
func (w *crowd) leastDue() *connection {
	order := []standing{ofEnded, idle, ofSession, ofReader}
	if w.free < w.all/rooms {
		order = []standing{ofEnded, ofSession, idle, ofReader}
	}
	for _, s := range order {
		if w.ranks[s].Len() > 0 {
			return w.ranks[s].items[0].first(s)
		}
	}
	return nil
}

// share is how much a pool's largest group takes, for comparison.
func (p *pool) share(s standing) int {
	largest := p.ranks[s].items[0].count
	if p.shared {
		return largest * p.count
	}
	return largest
}

// first returns the connection of a pool that gives way first.
func (p *pool) first(s standing) *connection { return p.ranks[s].items[0].first(s) }

func (p *pool) before(other *pool, s standing) bool {
	if a, b := p.share(s), other.share(s); a != b {
		return a > b
	}
	return p.first(s).idle.Before(other.first(s).idle)
}

func (p *pool) index(s standing) *int { return &p.at[s] }

func (g *group) first(s standing) *connection { return g.lines[s].Front().Value.(*connection) }

func (g *group) before(other *group, s standing) bool {
	if g.count != other.count {
		return g.count > other.count
	}
	return g.first(s).idle.Before(other.first(s).idle)
}

func (g *group) index(s standing) *int { return &g.at[s] }

// ranked is an item of a ranking.
type ranked[T any] interface {
	before(other T, s standing) bool
	// index is the item's position in the ranking, from 1; 0 if it is in none.
	index(s standing) *int
}

// ranking is a heap of groups or pools for one standing.
type ranking[T ranked[T]] struct {
	of    standing
	items []T
	steps *int
}

// place puts an item where it belongs, or removes it.
func (r *ranking[T]) place(item T, in bool) {
	at := *item.index(r.of)
	switch {
	case in && at == 0:
		heap.Push(r, item)
	case in:
		heap.Fix(r, at-1)
	case at > 0:
		heap.Remove(r, at-1)
	}
}

// Len implements heap.Interface.
func (r *ranking[T]) Len() int { return len(r.items) }

// Less implements heap.Interface.
func (r *ranking[T]) Less(i, j int) bool {
	*r.steps++
	return r.items[i].before(r.items[j], r.of)
}

// Swap implements heap.Interface.
func (r *ranking[T]) Swap(i, j int) {
	r.items[i], r.items[j] = r.items[j], r.items[i]
	*r.items[i].index(r.of), *r.items[j].index(r.of) = i+1, j+1
}

// Push implements heap.Interface.
func (r *ranking[T]) Push(x any) {
	item := x.(T)
	r.items = append(r.items, item)
	*item.index(r.of) = len(r.items)
}

// Pop implements heap.Interface.
func (r *ranking[T]) Pop() any {
	last := len(r.items) - 1
	item := r.items[last]
	var none T
	r.items[last] = none
	r.items = r.items[:last]
	*item.index(r.of) = 0
	return item
}
