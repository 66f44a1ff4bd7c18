package projections

// table maps ids to immutable values; as an overlay's, it holds only what the overlay changed.
type table[V any] struct {
	under *table[V]
	rows  map[string]V
}

func newTable[V any](under *table[V]) table[V] {
	return table[V]{under: under, rows: make(map[string]V)}
}

func (t *table[V]) get(id string) V {
	value, ok := t.rows[id]
	if !ok && t.under != nil {
		value = t.under.rows[id]
	}
	return value
}

func (t *table[V]) put(id string, value V) { t.rows[id] = value }

// settle moves an overlay's rows down into the table under it.
func (t *table[V]) settle() {
	for id, value := range t.rows {
		t.under.rows[id] = value
	}
	clear(t.rows)
}
