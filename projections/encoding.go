package projections

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"maestro/events"
)

// Format is the version of Encode's format. A snapshot of another format is not used.
const Format = 30

// header is the first part of an encoded state: everything except the words of statements, and what is in segments.
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
	Webhooks  []*Webhook
	// Newest has the entries that say what became of sessions, Late by project the late reports.
	Newest []newestEntries
	Late   [][]*Entry
	Blobs  []blobNames
	// Origins are the addresses of tokens, by name; Redactions are in the order of their events.
	Origins    []*TokenOrigins `json:",omitempty"`
	Redactions []*Redaction    `json:",omitempty"`
	// Unowned are the timelines that began before their task or session, in this order.
	Unowned []unowned `json:",omitempty"`
	// Words says that the words of statements follow.
	Words bool
}

// newestEntries are the entries of a session that the state keeps.
type newestEntries struct {
	SessionID string
	Halted    *Entry `json:",omitempty"`
	Exit      *Entry `json:",omitempty"`
	Loss      *Loss  `json:",omitempty"`
}

// blobNames are the references to a blob.
type blobNames struct {
	Digest string
	Refs   []BlobRef
}

// Image is an immutable snapshot of a state that is cheap to take; it can be encoded while the state changes.
type Image struct {
	header header
	ids    idList
	tape   Tape
	// timelines are those that are not empty, in the order of the header.
	timelines []namedTimeline
}

// Image takes a snapshot of a committed state. It costs some pointers for each project, task, session, queue item and
// question.
func (s *State) Image() *Image {
	if s.under != nil {
		panic("projections: only a committed state has an image")
	}
	image := &Image{header: header{
		Head:    s.head,
		Genesis: s.genesis,
		At:      s.at,
		Words:   true,
	}, ids: s.ids, tape: s.tape}
	for _, project := range s.projectIDs {
		image.header.Projects = append(image.header.Projects, s.projects.get(project))
		image.header.Late = append(image.header.Late, s.late.get(project))
		for _, id := range s.taskIDs.get(project) {
			image.header.Tasks = append(image.header.Tasks, s.tasks.get(id))
		}
		for _, id := range s.sessionIDs.get(project) {
			image.header.Sessions = append(image.header.Sessions, s.sessions.get(id))
			kept := newestEntries{id, s.lastWords.get(id), s.exits.get(id), s.losses.get(id)}
			if kept.Halted != nil || kept.Exit != nil || kept.Loss != nil {
				image.header.Newest = append(image.header.Newest, kept)
			}
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
	image.collectTimelines(s)
	image.header.Origins, image.header.Redactions = s.allOrigins(), s.Redactions()
	image.header.Unowned = s.unowned
	for token := range s.Tokens() {
		image.header.Tokens = append(image.header.Tokens, token)
	}
	for _, id := range s.templateIDs {
		image.header.Templates = append(image.header.Templates, s.templates.get(id))
	}
	for _, id := range s.webhookIDs {
		image.header.Webhooks = append(image.header.Webhooks, s.webhooks.get(id))
	}
	for digest, refs := range s.blobRefs.rows {
		image.header.Blobs = append(image.header.Blobs, blobNames{digest, refs})
	}
	return image
}

// collectTimelines adds the timelines of the tasks and the sessions.
func (i *Image) collectTimelines(s *State) {
	collect := func(of timelineOf, timelines *table[Timeline], id string) {
		if timeline := timelines.rows[id]; len(timeline) > 0 {
			i.timelines = append(i.timelines, namedTimeline{of, id, timeline})
		}
	}
	for _, t := range i.header.Tasks {
		collect(ofTask, &s.taskTimelines, t.ID)
	}
	for _, x := range i.header.Sessions {
		collect(ofSession, &s.sessionTimelines, x.ID)
	}
	for _, x := range s.unowned {
		if x.Of == ofTask && s.tasks.get(x.ID) == nil || x.Of == ofSession && s.sessions.get(x.ID) == nil {
			collect(x.Of, s.timelinesOf(x.Of), x.ID)
		}
	}
}

// Head returns the log position of the snapshot.
func (i *Image) Head() events.Head { return i.header.Head }

// Genesis returns the chain's hash after sequence 1.
func (i *Image) Genesis() events.Hash { return i.header.Genesis }

// Encode returns the state as bytes: equal states have equal bytes, on any machine.
func (i *Image) Encode() ([]byte, error) {
	b, err := i.EncodeLive(context.Background())
	if err != nil {
		return nil, err
	}
	for n := range i.segments() {
		b = i.appendSegment(b, n)
	}
	return b, nil
}

// EncodeLive returns the part of Encode's bytes before the segments. It stops early with ctx's error.
func (i *Image) EncodeLive(ctx context.Context) ([]byte, error) {
	h := i.header
	h.Blobs = slices.SortedFunc(slices.Values(h.Blobs), func(a, b blobNames) int {
		return cmp.Compare(a.Digest, b.Digest)
	})
	w := &headerWriter{ctx: ctx}
	w.json = json.NewEncoder(&w.buffer)
	w.json.SetEscapeHTML(false)
	w.value("Head", h.Head)
	w.value("Genesis", h.Genesis)
	w.value("At", h.At)
	write(w, "Projects", h.Projects)
	write(w, "Tasks", h.Tasks)
	write(w, "Sessions", h.Sessions)
	write(w, "Queues", h.Queues)
	write(w, "Items", h.Items)
	write(w, "Inputs", h.Inputs)
	write(w, "Tokens", h.Tokens)
	write(w, "Templates", h.Templates)
	write(w, "Webhooks", h.Webhooks)
	write(w, "Newest", h.Newest)
	write(w, "Late", h.Late)
	write(w, "Blobs", h.Blobs)
	write(w, "Origins", h.Origins)
	write(w, "Redactions", h.Redactions)
	write(w, "Unowned", h.Unowned)
	w.value("Words", h.Words)
	if w.err != nil {
		return nil, fmt.Errorf("encode the state: %w", w.err)
	}
	w.buffer.WriteString("}\n")
	b := w.buffer.Bytes()
	for _, t := range h.Tasks {
		for said := range t.statements() {
			b = appendWords(appendWords(b, said.Words), said.Doubt)
		}
	}
	return b, nil
}

// Encode returns the state as bytes; see [Image.Encode].
func (s *State) Encode() ([]byte, error) { return s.Image().Encode() }

// statements returns what its sessions say of a task.
func (t *Task) statements() iter.Seq[*StatusReport] {
	return func(yield func(*StatusReport) bool) {
		for part := range t.parts() {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

func appendWords(b []byte, words *Words) []byte {
	if words == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	for _, text := range []string{words.What, words.Text, words.Blob, words.By} {
		b = appendText(b, text)
	}
	return b
}

func (r *reader) words() *Words {
	if r.uvarint() == 0 {
		return nil
	}
	var words Words
	for _, field := range []*string{&words.What, &words.Text, &words.Blob, &words.By} {
		*field = r.text()
	}
	return &words
}

// Decode restores a committed state from Encode's bytes. The first segments may be apart from the rest, in their order.
// It checks only the format: the caller has to verify with [State.Head] that the state belongs to the log.
func Decode(b []byte, segments ...[]byte) (*State, error) {
	s := New()
	h, r, err := s.restoreHeader(b)
	if err != nil {
		return nil, err
	}
	for _, segment := range segments {
		full := &reader{b: segment}
		s.restoreSegment(full, h.Head.Sequence)
		r.bad = r.bad || full.bad || len(full.b) != 0
	}
	for !r.bad && s.ids.n < h.Head.Sequence {
		s.restoreSegment(r, h.Head.Sequence)
	}
	if r.bad || len(r.b) != 0 {
		return nil, errors.New("decode a state: its segments are cut or overlong")
	}
	s.restoreLiving(h)
	s.restoreAttention(h)
	return s, nil
}

// restoreHeader restores what is before the segments, and returns it, and what reads the segments.
func (s *State) restoreHeader(b []byte) (*header, *reader, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, nil, errors.New("an encoded state begins with a line of JSON")
	}
	h, r := new(header), &reader{b: b[end+1:]}
	if err := json.Unmarshal(b[:end], h); err != nil {
		return nil, nil, fmt.Errorf("decode a state: %w", err)
	}
	s.head, s.genesis, s.at = h.Head, h.Genesis, h.At.UTC()
	s.unowned = append(s.unowned, h.Unowned...)
	if err := s.restore(h); err != nil {
		return nil, nil, fmt.Errorf("decode a state: %w", err)
	}
	if h.Words {
		for _, t := range h.Tasks {
			for said := range t.statements() {
				said.Words, said.Doubt = r.words(), r.words()
			}
		}
	}
	return h, r, nil
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
		s.projectIDs = append(s.projectIDs, p.ID)
		p.Number = len(s.projectIDs)
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
		s.tallySession(nil, x)
		s.sessionIDs.put(x.ProjectID, append(s.sessionIDs.get(x.ProjectID), x.ID))
	}
	s.restoreKept(h)
	return errors.Join(s.restoreQueues(h), s.restoreInputs(h), s.restoreTokens(h), s.restoreTemplates(h),
		s.restoreTexts(h), s.restoreWebhooks(h))
}

// restoreKept restores the entries that the state keeps, and the references to blobs.
func (s *State) restoreKept(h *header) {
	for _, kept := range h.Newest {
		if kept.Halted != nil {
			s.lastWords.put(kept.SessionID, kept.Halted)
		}
		if kept.Exit != nil {
			s.exits.put(kept.SessionID, kept.Exit)
		}
		if kept.Loss != nil {
			s.losses.put(kept.SessionID, kept.Loss)
		}
	}
	for i, late := range h.Late {
		if i < len(h.Projects) && len(late) > 0 {
			s.late.put(h.Projects[i].ID, late)
		}
	}
	for _, blob := range h.Blobs {
		s.blobRefs.put(blob.Digest, blob.Refs)
	}
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
