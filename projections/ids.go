package projections

import (
	"hash/maphash"
	"iter"

	"github.com/google/uuid"
)

// idList holds the ids of all accepted events, in the order of the log. Its copies share what both hold; only one of
// them may grow at a time.
type idList struct {
	chunks [][]uuid.UUID
	n      uint64
}

// idsPerChunk is how many ids are held together: a list that grows copies none of them.
const idsPerChunk = 1 << 14

// with returns a list with one more id.
func (l idList) with(id uuid.UUID) idList {
	chunk, at := int(l.n/idsPerChunk), l.n%idsPerChunk //nolint:gosec // as many as fit into memory
	if chunk == len(l.chunks) {
		l.chunks = append(l.chunks, make([]uuid.UUID, idsPerChunk))
	}
	l.chunks[chunk][at] = id
	l.n++
	return l
}

// at returns the id of the event at a sequence, which the list must hold.
func (l idList) at(sequence uint64) *uuid.UUID {
	return &l.chunks[(sequence-1)/idsPerChunk][(sequence-1)%idsPerChunk]
}

// all returns the ids in order.
func (l idList) all() iter.Seq[*uuid.UUID] {
	return func(yield func(*uuid.UUID) bool) {
		for sequence := range l.n {
			if !yield(l.at(sequence + 1)) {
				return
			}
		}
	}
}

// idIndex finds the sequence of an id in a list, in about seven bytes an id. It is divided into shards, so that growing
// it never takes long. Its seed makes sure that nobody can choose ids that collide; it changes no answer.
type idIndex struct {
	seed   maphash.Seed
	shards [idShards]idShard
}

const idShards = 256

// idShard is a hash table with open addressing: a slot holds a sequence, 0 for none.
type idShard struct {
	slots []uint32
	used  int
	// beyond holds the sequences that do not fit into a slot.
	beyond map[uuid.UUID]uint64
}

func newIDIndex() *idIndex { return &idIndex{seed: maphash.MakeSeed()} }

func (x *idIndex) shard(id *uuid.UUID) (shard *idShard, hash uint64) {
	hash = maphash.Bytes(x.seed, id[:])
	return &x.shards[hash%idShards], hash / idShards
}

// find returns the sequence of an id; 0 if the list does not hold it.
func (x *idIndex) find(list *idList, id uuid.UUID) uint64 {
	shard, hash := x.shard(&id)
	if sequence, ok := shard.beyond[id]; ok {
		return sequence
	}
	if len(shard.slots) == 0 {
		return 0
	}
	mask := uint64(len(shard.slots) - 1)
	for at := hash & mask; shard.slots[at] != 0; at = (at + 1) & mask {
		if sequence := uint64(shard.slots[at]); *list.at(sequence) == id {
			return sequence
		}
	}
	return 0
}

// add adds the id at a sequence of the list.
func (x *idIndex) add(list *idList, sequence uint64) {
	id := list.at(sequence)
	shard, hash := x.shard(id)
	if sequence > 1<<32-1 {
		if shard.beyond == nil {
			shard.beyond = map[uuid.UUID]uint64{}
		}
		shard.beyond[*id] = sequence
		return
	}
	if shard.used >= len(shard.slots)*3/4 {
		x.grow(list, shard)
	}
	shard.put(hash, uint32(sequence)) //nolint:gosec // it fits
}

func (s *idShard) put(hash uint64, sequence uint32) {
	mask := uint64(len(s.slots) - 1)
	at := hash & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = sequence
	s.used++
}

func (x *idIndex) grow(list *idList, shard *idShard) {
	old := shard.slots
	shard.slots, shard.used = make([]uint32, max(16, 2*len(old))), 0
	for _, sequence := range old {
		if sequence != 0 {
			_, hash := x.shard(list.at(uint64(sequence)))
			shard.put(hash, sequence)
		}
	}
}
