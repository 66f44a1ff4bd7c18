package service

import "math"

// holding counts the memory of a search, which goes on in portions, against the budgets of its caller. The caller must
// call free.
type holding struct {
	admission *Admission
	size      func() int64
	counted   int64
	// some says that the search may end early.
	some bool
}

// holding starts to count what size returns, in bytes.
func (v View) holding(size func() int64) *holding {
	return &holding{admission: v.Caller.admission, size: size}
}

// grow counts what the search takes now; done says that it takes no more. It fails with a Problem: of KindBusy if the
// budgets have no room at present, of KindTooLarge if a search that may end early takes too much of them.
func (h *holding) grow(done bool) error {
	if h == nil || h.admission == nil {
		return nil
	}
	now := h.size()
	switch more := now - h.counted; {
	case h.some && !done && now > h.most():
		return tooMuchToRead()
	case more > 0:
		if err := h.admission.Render(more); err != nil {
			return err
		}
	case more < 0:
		h.admission.Free(-more)
	}
	h.counted = now
	return nil
}

// most is how much a search takes before it ends early: three quarters of what its caller may have.
func (h *holding) most() int64 {
	quota := h.admission.ledger.quotas[h.admission.credential.class][useAnswers]
	if quota.Value == 0 {
		return math.MaxInt64
	}
	return int64(quota.Value) / 4 * 3
}

// free ends the count.
func (h *holding) free() {
	if h != nil && h.admission != nil {
		h.admission.Free(h.counted)
		h.counted = 0
	}
}
