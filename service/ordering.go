package service

// orderings is how many answers are sorted by dependency concurrently, each for another account; the others wait for
// their turn.
const orderings = 2

// ordered creates an answer sorted by dependency, which takes so many bytes meanwhile. Few are created concurrently,
// and none for a caller that owes for earlier reads. The caller must not hold the state.
func (v View) ordered(bytes int64, make func() error) error {
	place, err := v.Service.ordering.take(v.ctx, v.Caller)
	if err != nil {
		return err
	}
	defer place.leave()
	if a := v.Caller.admission; a != nil {
		for _, account := range a.paying() {
			if over := a.ledger.owes(account, useReads); over != nil {
				return v.Service.overFor(v.Caller, v.Caller.By, over)
			}
		}
	}
	return v.counted(bytes, make)
}

// counted creates an answer, and counts in advance the memory that this takes, in bytes.
func (v View) counted(bytes int64, make func() error) error {
	a := v.Caller.admission
	if a == nil || bytes == 0 {
		return make()
	}
	if err := a.Render(bytes); err != nil {
		return err
	}
	defer a.Free(bytes)
	return make()
}
