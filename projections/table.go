package projections

// table maps ids to immutable values; an overlay's table holds only the overlay's changes.
type table[V any] struct {
	under *table[V]
	rows  map[string]V
	// sealed holds the changes of an overlay's sealed batch, under those in rows.
	sealed map[string]V
	// meter counts the look-ups; nil if they are not counted.
	meter *meter
}

// layer is a table of any type, as a state's overlay handles it.
type layer interface {
	// open initialises an empty table, over another of the same type if under is not nil.
	open(under layer)
	// seal sets an overlay's rows apart, settle moves what is set apart down into the table under it, and drop discards
	// everything.
	seal()
	settle()
	drop()
	// count adds each look-up to a meter.
	count(m *meter)
}

func (t *table[V]) open(under layer) {
	t.rows = make(map[string]V)
	if under, ok := under.(*table[V]); ok {
		t.under, t.sealed = under, make(map[string]V)
	}
}

func (t *table[V]) count(m *meter) { t.meter = m }

func (t *table[V]) get(id string) V {
	if t.meter != nil {
		t.meter.add(1)
	}
	value, ok := t.rows[id]
	if !ok && t.under != nil {
		if value, ok = t.sealed[id]; !ok {
			value = t.under.rows[id]
		}
	}
	return value
}

// at is get for an id in a buffer, without allocating a string.
func (t *table[V]) at(id []byte) V {
	if t.meter != nil {
		t.meter.add(1)
	}
	value, ok := t.rows[string(id)]
	if !ok && t.under != nil {
		if value, ok = t.sealed[string(id)]; !ok {
			value = t.under.rows[string(id)]
		}
	}
	return value
}

func (t *table[V]) put(id string, value V) { t.rows[id] = value }

func (t *table[V]) seal() { t.rows, t.sealed = t.sealed, t.rows }

func (t *table[V]) settle() {
	if len(t.sealed) == 0 {
		return
	}
	for id, value := range t.sealed {
		t.under.rows[id] = value
	}
	clear(t.sealed)
}

func (t *table[V]) drop() {
	clear(t.rows)
	clear(t.sealed)
}
