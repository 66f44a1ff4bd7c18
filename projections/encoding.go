package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"maestro/events"
)

// Format is the version of Encode's format. A snapshot of another format is not used.
const Format = 14

// header is the first part of an encoded state: everything except the two long lists.
type header struct {
	Head      events.Head
	Genesis   events.Hash
	At        time.Time
	Projects  []*Project
	Tasks     []*Task
	Sessions  []*Session
	Queues    []*Queue
	Items     []*Item
	Inputs    []*Input
	Tokens    []*Token
	Templates []*Template
	Entries   int
	IDs       int
}

// Image is an immutable snapshot of a state that is cheap to take; it can be encoded while the state changes.
type Image struct {
	header  header
	entries []*Entry
	ids     []uuid.UUID
}

// Image takes a snapshot of a committed state. It costs a pointer for each project, task, session, queue item and
// question.
func (s *State) Image() *Image {
	if s.under != nil {
		panic("projections: only a committed state has an image")
	}
	image := &Image{header: header{
		Head:    s.head,
		Genesis: s.genesis,
		At:      s.at,
		Entries: len(s.entries),
		IDs:     len(s.ids),
	}, entries: s.entries, ids: s.ids}
	for _, project := range s.projectIDs {
		image.header.Projects = append(image.header.Projects, s.projects.get(project))
		for _, id := range s.taskIDs.get(project) {
			image.header.Tasks = append(image.header.Tasks, s.tasks.get(id))
		}
		for _, id := range s.sessionIDs.get(project) {
			image.header.Sessions = append(image.header.Sessions, s.sessions.get(id))
		}
		for _, name := range s.queueNames.get(project) { // including deleted ones, with the holders of their items
			image.header.Queues = append(image.header.Queues, s.queues.get(queueKey(project, name)))
			for _, task := range s.itemTasks.get(queueKey(project, name)) {
				image.header.Items = append(image.header.Items, s.items.get(itemKey(project, name, task)))
			}
		}
		for x := range s.Inputs(project) {
			image.header.Inputs = append(image.header.Inputs, x)
		}
	}
	for token := range s.Tokens() {
		image.header.Tokens = append(image.header.Tokens, token)
	}
	for _, id := range s.templateIDs {
		image.header.Templates = append(image.header.Templates, s.templates.get(id))
	}
	return image
}

// Head returns the log position of the snapshot.
func (i *Image) Head() events.Head { return i.header.Head }

// Genesis returns the chain's hash after sequence 1.
func (i *Image) Genesis() events.Hash { return i.header.Genesis }

// Encode returns the state as bytes: equal states have equal bytes, on any machine.
func (i *Image) Encode() ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&i.header); err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	b := make([]byte, 0, buffer.Len()+len(i.ids)*len(uuid.UUID{})+len(i.entries)*128)
	b = append(b, buffer.Bytes()...)
	for _, id := range i.ids {
		b = append(b, id[:]...)
	}
	strings := make(map[string]uint64)
	for _, e := range i.entries {
		b = appendEntry(b, e, strings)
	}
	return b, nil
}

// Encode returns the state as bytes; see [Image.Encode].
func (s *State) Encode() ([]byte, error) { return s.Image().Encode() }

// Recurring strings of entries (types, sources, ids) are written once and then referenced by number.
func appendEntry(b []byte, e *Entry, seen map[string]uint64) []byte {
	var flags uint64
	if e.Bare {
		flags |= 1
	}
	if e.Late {
		flags |= 2
	}
	if e.Apart {
		flags |= 4
	}
	b = binary.AppendUvarint(b, e.Sequence)
	b = binary.AppendUvarint(b, uint64(e.Index))
	b = binary.AppendVarint(b, e.At)
	b = binary.AppendVarint(b, e.OccurredAt)
	b = binary.AppendUvarint(b, flags)
	for _, s := range []string{e.Type, e.Source, e.SessionID, e.TaskID, e.What, e.Blob} {
		number, ok := seen[s]
		if ok {
			b = binary.AppendUvarint(b, number)
			continue
		}
		seen[s] = uint64(len(seen)) + 1
		b = binary.AppendUvarint(b, 0)
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Message)))
	b = append(b, e.Message...)
	b = binary.AppendUvarint(b, uint64(len(e.Data)))
	return append(b, e.Data...)
}

// Decode restores a committed state from Encode's bytes. It checks only the format: the caller has to verify with
// [State.Head] that the state belongs to the log.
func Decode(b []byte) (*State, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, errors.New("an encoded state begins with a line of JSON")
	}
	var h header
	if err := json.Unmarshal(b[:end], &h); err != nil {
		return nil, fmt.Errorf("decode a state: %w", err)
	}
	s := New()
	s.head, s.genesis, s.at = h.Head, h.Genesis, h.At.UTC()
	if err := s.restore(&h); err != nil {
		return nil, fmt.Errorf("decode a state: %w", err)
	}
	r := reader{b: b[end+1:]}
	if h.IDs < 0 || uint64(h.IDs) != h.Head.Sequence || h.IDs > len(r.b)/len(uuid.UUID{}) || h.Entries < 0 {
		return nil, errors.New("decode a state: the event ids are not all there")
	}
	s.ids = make([]uuid.UUID, h.IDs)
	for i := range s.ids {
		copy(s.ids[i][:], r.take(uint64(len(uuid.UUID{}))))
		s.accepted[s.ids[i]] = uint64(i) + 1
	}
	s.restoreLiving(&h)
	strings := []string{""}
	for range h.Entries {
		e := r.entry(&strings)
		if r.bad {
			break
		}
		s.entries = append(s.entries, e)
		s.place(e)
	}
	if r.bad || len(r.b) != 0 {
		return nil, errors.New("decode a state: the timelines are cut or overlong")
	}
	return s, nil
}

// restore restores the header's content, and what is derived from it.
func (s *State) restore(h *header) error {
	for _, p := range h.Projects {
		if p == nil {
			return errors.New("a project is missing")
		}
		p.Root = s.rootFor(p.CreatedBy, p.ID) // the creator's project is restored before it
		s.projects.put(p.ID, p)
		s.countMade(nil, p)
		s.referProject(p)
		s.projectIDs = append(s.projectIDs, p.ID)
	}
	for _, t := range h.Tasks {
		if t == nil || t.TaskFields == nil {
			return errors.New("a task is missing")
		}
		s.tasks.put(t.ID, t)
		s.taskIDs.put(t.ProjectID, append(s.taskIDs.get(t.ProjectID), t.ID))
		s.planned(t)
		if t.ParentID != "" {
			s.children.put(t.ParentID, append(s.children.get(t.ParentID), t.ID))
		}
		s.countUnfinished(nil, t)
		s.dependOn(t.ID, t.Dependencies)
		s.referTask(t)
		for part := range t.parts() {
			for _, said := range part {
				s.speaksOf(said.SessionID, t)
			}
		}
	}
	s.restoreOrder(h.Tasks)
	for _, x := range h.Sessions {
		if x == nil || x.SessionFields == nil {
			return errors.New("a session is missing")
		}
		s.sessions.put(x.ID, x)
		s.sessionIDs.put(x.ProjectID, append(s.sessionIDs.get(x.ProjectID), x.ID))
		s.referSession(x)
	}
	return errors.Join(s.restoreQueues(h), s.restoreInputs(h), s.restoreTokens(h), s.restoreTemplates(h))
}

func (s *State) restoreQueues(h *header) error {
	for _, q := range h.Queues {
		if q == nil {
			return errors.New("a queue is missing")
		}
		s.addQueue(q)
	}
	for _, item := range h.Items {
		if item == nil || s.queues.get(queueKey(item.ProjectID, item.Queue)) == nil {
			return errors.New("a queue's item is missing, or its queue")
		}
		key, id := queueKey(item.ProjectID, item.Queue), itemKey(item.ProjectID, item.Queue, item.TaskID)
		s.enter(key, id, item)
		switch item.Status {
		case events.ItemProcessing:
			s.heldItems = s.heldItems.with(item.Started, id)
		case events.ItemQueued, events.ItemCompleted, events.ItemFailed, events.ItemSkipped, events.ItemQuarantined:
		}
	}
	s.settle()
	return nil
}

func (s *State) restoreInputs(h *header) error {
	type mail struct {
		session, id string
		sequence    uint64
	}
	var undelivered []mail
	for _, x := range h.Sessions {
		for _, m := range x.Mail {
			undelivered = append(undelivered, mail{x.ID, m.ID, m.Sequence})
		}
	}
	for _, x := range h.Inputs {
		if x == nil {
			return errors.New("a question is missing")
		}
		s.inputs.put(x.ID, x)
		s.inputIDs.put(x.ProjectID, append(s.inputIDs.get(x.ProjectID), x.ID))
		if x.AnsweredAt != 0 && x.DeliveredAt == 0 {
			undelivered = append(undelivered, mail{x.SessionID, x.ID, x.AnsweredSequence})
		}
	}
	slices.SortStableFunc(undelivered, func(a, b mail) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, m := range undelivered {
		s.undelivered.put(m.session, append(s.undelivered.get(m.session), m.id))
	}
	return nil
}

func (s *State) restoreTemplates(h *header) error {
	for _, t := range h.Templates {
		if t == nil {
			return errors.New("a template is missing")
		}
		s.templates.put(t.ID, t)
		s.templateIDs = append(s.templateIDs, t.ID)
	}
	return nil
}

func (s *State) restoreTokens(h *header) error {
	for _, token := range h.Tokens {
		if token == nil {
			return errors.New("a token is missing")
		}
		s.tokens.put(token.Name, token)
		s.tokenNames = append(s.tokenNames, token.Name)
	}
	return nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) uvarint() uint64 {
	value, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return value
}

func (r *reader) varint() int64 {
	value, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return value
}

func (r *reader) entry(seen *[]string) *Entry {
	e := &Entry{
		Sequence:   r.uvarint(),
		Index:      int(r.uvarint()),
		At:         r.varint(),
		OccurredAt: r.varint(),
	}
	flags := r.uvarint()
	e.Bare, e.Late, e.Apart = flags&1 != 0, flags&2 != 0, flags&4 != 0
	for _, field := range []*string{&e.Type, &e.Source, &e.SessionID, &e.TaskID, &e.What, &e.Blob} {
		number := r.uvarint()
		if number == 0 {
			*seen = append(*seen, string(r.take(r.uvarint())))
			number = uint64(len(*seen)) - 1
		}
		if number >= uint64(len(*seen)) {
			r.bad = true
			return nil
		}
		*field = (*seen)[number]
	}
	e.Message = string(r.take(r.uvarint()))
	if n := r.uvarint(); n > 0 {
		e.Data = bytes.Clone(r.take(n)) // otherwise the whole encoding would stay in memory
	}
	return e
}
