package service

// orderings is how many answers are put in order of dependency at once, each for another account; the others wait for
// their turn.
const orderings = 2

// ordered makes an answer in order of dependency, which takes so many bytes while it is made. Few are made at once, and
// none for a caller that owes for earlier reads. The state must not stand still for the caller.
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

// counted makes an answer, and counts what it takes while it is made before it is taken, in bytes.
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
