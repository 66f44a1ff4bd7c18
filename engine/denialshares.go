package engine

import (
	"container/heap"
	"container/list"
	"crypto/sha256"

	"maestro/projections"
)

// DenialBounds limit the stored refusals. Together with MaxDenial, they bound the memory and the disk space that
// refusals take.
type DenialBounds struct {
	// Records is the number of records of all actors together.
	Records int
	// OfOne is the number of records of one actor: this many for its refused commands and reads, and as many again for
	// its kept commands.
	OfOne int
	// AMinute is how many different refusals of one actor are recorded one by one in a minute, and how many of its kept
	// commands. All further ones share one record with a count.
	AMinute int
	// Waiting is how many callers may wait until their refusals are stored. One project may have a quarter of it.
	Waiting int
}

// DefaultDenialBounds keeps 10,000 records: at most 60 MB of texts in memory, and twice as much on disk.
func DefaultDenialBounds() DenialBounds {
	return DenialBounds{
		Records: 10_000,
		OfOne:   1000,
		AMinute: 60,
		Waiting: 4096,
	}
}

// place is where a record is stored. Places are reused, so that the store does not grow.
type place struct{ actor, slot string }

// denialRecord is a record in memory.
type denialRecord struct {
	Denial
	place place
	kind  [sha256.Size]byte
	actor *actorDenials
	all   *list.Element
	// evicted says that another record has this record's place, or may get it.
	evicted bool
}

// The two sorts of refusals. Each has a share of its own.
const (
	plainDenial = iota
	keptDenial
	denialSorts
)

func (x *Denial) sort() int {
	if x.Kept {
		return keptDenial
	}
	return plainDenial
}

// actorDenials is the state of one actor.
type actorDenials struct {
	name    string
	root    *rootDenials
	at      int                          // index in its root's heap, -1 when it has no record
	number  [denialSorts]int             // of its next record
	records [denialSorts][]*denialRecord // oldest first
	recent  map[[sha256.Size]byte]*denialRecord
	more    [denialSorts]*denialRecord
	// window is when the current minute began, fresh how many records began in it.
	window int64
	fresh  [denialSorts]int
}

func (a *actorDenials) size() int { return len(a.records[plainDenial]) + len(a.records[keptDenial]) }

func (a *actorDenials) place(i int) { a.at = i }

// rootDenials groups the actors of one root project: its sessions, and those of the projects that they created. All
// actors that are not sessions form one group, named "".
type rootDenials struct {
	name    string
	at      int // index in the heap of all roots, -1 when it has no record
	records int
	actors  largest[*actorDenials]
	waiting int // number of its callers that wait
}

func (r *rootDenials) size() int { return r.records }

func (r *rootDenials) place(i int) { r.at = i }

// largest is a heap with the largest share first.
type largest[T interface {
	size() int
	place(i int)
}] []T

func (h largest[T]) Len() int           { return len(h) }
func (h largest[T]) Less(i, j int) bool { return h[i].size() > h[j].size() }

func (h largest[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place(i)
	h[j].place(j)
}

// Push implements heap.Interface.
func (h *largest[T]) Push(x any) {
	share := x.(T)
	share.place(len(*h))
	*h = append(*h, share)
}

// Pop implements heap.Interface.
func (h *largest[T]) Pop() any {
	last := len(*h) - 1
	share := (*h)[last]
	var none T
	(*h)[last] = none
	*h = (*h)[:last]
	share.place(-1)
	return share
}

// denialShares keeps the records within the bounds. When room is needed, the largest share gives way: first the root
// project with the most records, in it the actor with the most, and of its records the oldest. An actor that has less
// than an equal share therefore loses nothing, whatever the others do, and nobody gets a larger share by creating
// projects.
type denialShares struct {
	bounds DenialBounds
	actors map[string]*actorDenials
	roots  map[string]*rootDenials
	heap   largest[*rootDenials]
	all    *list.List // of *denialRecord, in the order in which they began
	bytes  int        // bytes of all texts
}

func newDenialShares(bounds DenialBounds) denialShares {
	return denialShares{
		bounds: bounds,
		actors: map[string]*actorDenials{},
		roots:  map[string]*rootDenials{},
		all:    list.New(),
	}
}

// actor returns an actor, which is remembered once it has a record. root is the root of the session's project, "" if
// that is the project itself.
func (s *denialShares) actor(name, root string) *actorDenials {
	project, _, session := projections.SessionOfSource(name)
	if root == "" || !session {
		root = project
	}
	a := s.actors[name]
	if a != nil && a.root.name == root {
		return a
	}
	r := s.roots[root]
	if r == nil {
		r = &rootDenials{name: root, at: -1}
	}
	if a != nil { // its records are of an earlier version, which did not store the root
		s.move(a, r)
		return a
	}
	return &actorDenials{
		name:   name,
		root:   r,
		at:     -1,
		recent: map[[sha256.Size]byte]*denialRecord{},
	}
}

// move puts an actor and its records into another group.
func (s *denialShares) move(a *actorDenials, to *rootDenials) {
	from := a.root
	heap.Remove(&from.actors, a.at)
	from.records -= a.size()
	s.settleRoot(from)
	a.root, s.roots[to.name] = to, to
	to.records += a.size()
	s.settle(a)
}

// makeRoom evicts records until an actor may have one more, and returns the freed places.
func (s *denialShares) makeRoom(a *actorDenials, sort int) (free []place) {
	if len(a.records[sort]) >= s.bounds.OfOne {
		free = append(free, s.evict(a, sort))
	}
	for s.all.Len() >= s.bounds.Records {
		loser := s.heap[0].actors[0]
		of := plainDenial
		if len(loser.records[keptDenial]) > len(loser.records[plainDenial]) {
			of = keptDenial
		}
		free = append(free, s.evict(loser, of))
	}
	return free
}

// add adds a record as the newest of its actor and of all.
func (s *denialShares) add(a *actorDenials, r *denialRecord) {
	if a.at < 0 {
		if root := s.roots[a.root.name]; root != nil {
			a.root = root
		}
		s.actors[a.name], s.roots[a.root.name] = a, a.root
	}
	r.actor = a
	r.all = s.all.PushBack(r)
	s.bytes += r.size()
	a.records[r.sort()] = append(a.records[r.sort()], r)
	a.root.records++
	s.settle(a)
}

// evict removes an actor's oldest record of a sort and returns its place.
func (s *denialShares) evict(a *actorDenials, sort int) place {
	r := a.records[sort][0]
	a.records[sort][0] = nil
	a.records[sort] = a.records[sort][1:]
	a.root.records--
	s.all.Remove(r.all)
	s.bytes -= r.size()
	r.evicted = true
	if a.recent[r.kind] == r {
		delete(a.recent, r.kind)
	}
	if a.more[sort] == r {
		a.more[sort] = nil
	}
	s.settle(a)
	return r.place
}

// settle restores the heap order after an actor's size changed. It forgets actors and groups without records.
func (s *denialShares) settle(a *actorDenials) {
	root := a.root
	switch {
	case a.size() == 0:
		heap.Remove(&root.actors, a.at)
		delete(s.actors, a.name)
	case a.at < 0:
		heap.Push(&root.actors, a)
	default:
		heap.Fix(&root.actors, a.at)
	}
	s.settleRoot(root)
}

func (s *denialShares) settleRoot(root *rootDenials) {
	switch {
	case root.records == 0:
		heap.Remove(&s.heap, root.at)
		delete(s.roots, root.name)
	case root.at < 0:
		heap.Push(&s.heap, root)
	default:
		heap.Fix(&s.heap, root.at)
	}
}
