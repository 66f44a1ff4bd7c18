package projections

import (
	"encoding/binary"
	"hash/maphash"
	"testing"

	"github.com/google/uuid"
)

// Every id is found at its sequence, however many there are, and no other id is found.
func TestIDIndex(t *testing.T) {
	id := func(n uint64) uuid.UUID {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[8:], n)
		return id
	}
	const n = 3 * idsPerChunk
	var list idList
	index := newIDIndex()
	for i := range uint64(n) {
		if index.find(&list, id(i)) != 0 {
			t.Fatalf("id %d is found before it was added", i)
		}
		list = list.with(id(i))
		index.add(&list, i+1)
	}
	for i := range uint64(n) {
		if at := index.find(&list, id(i)); at != i+1 {
			t.Fatalf("the id of event %d is found at %d", i+1, at)
		}
	}
	if at := index.find(&list, id(n)); at != 0 {
		t.Errorf("an id that is not there is found at %d", at)
	}
	slots := 0
	for i := range index.shards {
		slots += len(index.shards[i].slots)
	}
	if bytes := float64(4*slots) / n; bytes > 12 {
		t.Errorf("the index takes %.1f bytes an id", bytes)
	}
}

// Ids whose hashes collide are told apart.
func TestIDsThatCollide(t *testing.T) {
	var list idList
	index := newIDIndex()
	var same []uuid.UUID
	for n := uint64(0); len(same) < 20; n++ {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], n)
		if hash := maphash.Bytes(index.seed, id[:]); hash%idShards == 7 && hash/idShards&15 == 3 {
			same = append(same, id)
		}
	}
	for i, id := range same {
		list = list.with(id)
		index.add(&list, uint64(i+1))
	}
	for i, id := range same {
		if at := index.find(&list, id); at != uint64(i+1) {
			t.Errorf("the id of event %d is found at %d", i+1, at)
		}
	}
}

// A list that grows again after it was dropped back does not change the copies that are shorter.
func TestIDListsShareTheirBeginning(t *testing.T) {
	var list idList
	for i := range byte(10) {
		list = list.with(uuid.UUID{i})
	}
	dropped := list.with(uuid.UUID{99})
	kept := list.with(uuid.UUID{10})
	if *kept.at(11) != (uuid.UUID{10}) || kept.n != 11 || dropped.n != 11 || list.n != 10 {
		t.Errorf("%v %v %v", kept.n, dropped.n, list.n)
	}
	var got []uuid.UUID
	for id := range list.all() {
		got = append(got, *id)
	}
	if len(got) != 10 || got[9] != (uuid.UUID{9}) {
		t.Errorf("%v", got)
	}
}
