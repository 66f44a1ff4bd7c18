package projections

// meter counts steps of work. Every so many steps it asks whether the work may go on.
type meter struct {
	steps, next, every uint64
	check              func(steps uint64)
}

func (m *meter) add(n uint64) {
	if m.steps += n; m.check != nil && m.steps >= m.next {
		m.next = m.steps + m.every
		m.check(m.steps)
	}
}

// Reader returns s to one reader, with a counter of the reader's steps. Every so many steps check is called; it may
// panic to end the read. s must not change while the reader lives, and the reader changes nothing.
func (s *State) Reader(every uint64, check func(steps uint64)) (reader *State, steps *uint64) {
	r := *s
	r.layers = r.tables()
	m := &meter{every: every, next: every, check: check}
	r.countWith(m)
	return &r, &m.steps
}

// CountReads counts from now on how often the state looks something up, and what it changes in lines: a measure of
// work that is the same on every machine. A state that counts must not be read by two goroutines at once.
func (s *State) CountReads() (reads *uint64) {
	m := new(meter)
	s.countWith(m)
	return &m.steps
}

func (s *State) countWith(m *meter) {
	s.meter = m
	for _, layer := range s.layers {
		layer.count(m)
	}
}

// lineCost is how many look-ups a change of a line costs about.
const lineCost = 10

// work counts work that is no look-up.
func (s *State) work(n uint64) {
	if s.meter != nil {
		s.meter.add(n)
	}
}

// Steps returns how many steps were counted so far, 0 if nobody counts.
func (s *State) Steps() uint64 {
	if s.meter == nil {
		return 0
	}
	return s.meter.steps
}

// Worked counts steps that who reads the state takes beside the state's own, such as the items that a filter skips.
func (s *State) Worked(steps int) { s.work(uint64(max(steps, 0))) }

// lookedThrough counts the work of looking through a list, whose entries lie side by side.
func (s *State) lookedThrough(n int) { s.work(uint64(n / 16)) }
