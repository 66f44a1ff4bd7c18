package projections

// meter counts steps of work. Every so many steps it checks whether the work may continue.
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

// Reader returns s for one reader, with a counter of the reader's steps. Every so many steps it calls check, which may
// panic to end the read. s must not change while the reader is in use, and the reader changes nothing.
func (s *State) Reader(every uint64, check func(steps uint64)) (reader *State, steps *uint64) {
	r := *s
	r.layers = r.tables()
	m := &meter{every: every, next: every, check: check}
	r.countWith(m)
	return &r, &m.steps
}

// CountReads starts to count the state's look-ups, and its changes of lines: a measure of work that is the same on
// every machine. A counting state must not be read concurrently.
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

// lineCost is the approximate number of look-ups that a change of a line costs.
const lineCost = 10

// work counts work other than look-ups.
func (s *State) work(n uint64) {
	if s.meter != nil {
		s.meter.add(n)
	}
}

// Steps returns the number of steps so far, 0 if they are not counted.
func (s *State) Steps() uint64 {
	if s.meter == nil {
		return 0
	}
	return s.meter.steps
}

// Worked counts a reader's own steps, such as the items that a filter skips.
func (s *State) Worked(steps int) { s.work(uint64(max(steps, 0))) }

// lookedThrough counts the work of scanning a list, whose entries are adjacent in memory.
func (s *State) lookedThrough(n int) { s.work(uint64(n / 16)) }
