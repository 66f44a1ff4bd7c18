package oracle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"maestro/internal/syntax"
)

// MaxFaults is the maximum number of faults in a verdict: one early mistake can make every later event a fault.
const MaxFaults = 100

// maxLine is the maximum length of a line: the largest event, in base64 at worst, and its hashes.
const maxLine = 2*768<<10 + 4<<10

// Fault is an event that should not exist, or should differ.
type Fault struct {
	// Sequence is the event's place in the log.
	Sequence uint64 `json:"sequence"`
	// Rule is one of [Rules].
	Rule string `json:"rule"`
	// What says what was found, and what the rule requires.
	What string `json:"what"`
}

// Verdict is the result for an export.
type Verdict struct {
	// Events counts the lines, Judged those whose event was checked against every rule. For the others, only the chain,
	// ids, times, types and envelopes were checked.
	Events uint64 `json:"events"`
	Judged uint64 `json:"judged"`
	// Withheld counts the lines without a body.
	Withheld uint64 `json:"withheld"`
	// Faults are the first MaxFaults faults.
	Faults []Fault `json:"faults"`
}

// Judge reads an export line by line, and collects faults. It is not safe for concurrent use.
type Judge struct {
	chain   chain
	verdict Verdict
	// judging says that every event so far is known, so that rules that need the state can be applied.
	judging bool
	// broken is why no further line can be read, ended says that the last one was.
	broken error
	ended  bool

	// roots holds, for each event id, where its chain of causes began.
	roots    map[string]string
	lastTime time.Time
	// rulesVersion is the highest numeric version of the rules so far.
	rulesVersion int

	projects  map[string]*project
	tasks     map[string]*task
	sessions  map[string]*session
	queues    map[queueKey]*queue
	questions map[string]*question
	tokens    map[string]*token
	templates map[string]*template
	origins   map[string]*tokenOrigins
	// redacted are the digests of the texts that were removed.
	redacted map[string]bool
	order    order
	webhooks map[string]*webhook
	// former are the sessions that held items that were removed since: they may continue to report on the tasks.
	former map[formerItem][]string
}

// order holds the ids of everything that ever existed, in order of creation.
type order struct {
	projects, tasks, sessions, questions, templates, webhooks []string
	queues                                                    []queueKey
	// siblings are all tasks of each project; those below the same parent are in sibling order.
	siblings map[string][]string
}

// New returns a Judge that has seen nothing; its first line is sequence 1.
func New() *Judge {
	return &Judge{
		judging:   true,
		verdict:   Verdict{Faults: []Fault{}},
		roots:     map[string]string{},
		projects:  map[string]*project{},
		tasks:     map[string]*task{},
		order:     order{siblings: map[string][]string{}},
		sessions:  map[string]*session{},
		queues:    map[queueKey]*queue{},
		questions: map[string]*question{},
		tokens:    map[string]*token{},
		templates: map[string]*template{},
		origins:   map[string]*tokenOrigins{},
		redacted:  map[string]bool{},
		webhooks:  map[string]*webhook{},
		former:    map[formerItem][]string{},
	}
}

// Read judges a whole export. The error is a read error (the verdict then covers the lines before it); faults of the
// log are in the verdict.
func Read(r io.Reader) (Verdict, error) {
	j := New()
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if err := j.Line(lines.Bytes()); err != nil {
			return j.Verdict(), err
		}
	}
	if err := lines.Err(); err != nil {
		return j.Verdict(), fmt.Errorf("read the export after line %d: %w", j.verdict.Events, syntax.Plain(err))
	}
	return j.Verdict(), nil
}

// Line judges one line of an export, with or without its line break. An error means that neither this line nor any
// after it can be read: every later call returns the same error.
func (j *Judge) Line(text []byte) error {
	if j.broken != nil {
		return j.broken
	}
	err := errors.New("it follows the end of the log")
	if isEnd := bytes.HasPrefix(text, []byte(endStart)); isEnd && !j.ended {
		if err = j.end(text); err == nil {
			j.ended = true
			return nil
		}
	} else if !j.ended {
		err = j.line(text)
	}
	if err != nil {
		j.broken = fmt.Errorf("line %d: %w", j.verdict.Events+1, err)
		return j.broken
	}
	j.verdict.Events++
	return nil
}

// Verdict returns the result so far.
func (j *Judge) Verdict() Verdict {
	v := j.verdict
	v.Faults = append([]Fault{}, j.verdict.Faults...)
	return v
}

func (j *Judge) line(text []byte) error {
	l, err := readLine(text)
	if err != nil {
		return err
	}
	if l.withheld() {
		j.verdict.Withheld++
		j.judging = false
		j.link(l, *l.PrevHash, *l.BodyHash)
		return nil
	}
	e, err := readEvent(l.body())
	if err != nil {
		return err
	}
	j.link(l, e.PrevHash, bodyHash(l.body()))
	j.event(l, e)
	return nil
}

// event checks what applies to every event, and then, if all events before it are known, whether it was permitted.
func (j *Judge) event(l line, e *event) {
	c := &trial{
		Judge:    j,
		sequence: l.Sequence,
		event:    e,
		by:       parseSource(e.Source),
	}
	c.identity()
	c.clock()
	c.age()
	blank := known[e.Type]
	if blank == nil {
		// The effects of an unknown type are unknown too.
		j.judging = false
		c.fault(ruleType, "event type %q is not documented", e.Type)
		return
	}
	what := blank()
	if err := decodeData(e.Data, what); err != nil {
		j.judging = false
		c.fault(ruleEnvelope, "the data does not fit type %s: %s", e.Type, err)
		return
	}
	c.envelope(l, what)
	c.exact(l.body())
	c.system(what)
	if !j.judging {
		return
	}
	c.causes()
	c.permitted(what)
	c.limits(e.Data)
	c.textsStay(e.Data)
	what.judge(c)
	what.fold(c)
	c.heard(what)
	j.verdict.Judged++
}

func (j *Judge) fault(sequence uint64, rule, format string, args ...any) {
	if len(j.verdict.Faults) < MaxFaults {
		j.verdict.Faults = append(
			j.verdict.Faults,
			Fault{Sequence: sequence, Rule: rule, What: fmt.Sprintf(format, args...)},
		)
	}
}

// fact is the payload of an event.
type fact interface {
	// about returns the subject: the kind and the id of the object.
	about() (kind, id string)
	// commands are the ids of the commands that may have caused it; one of them must have been permitted.
	commands() []string
	// judge reports what the state before the event does not permit.
	judge(c *trial)
	// fold applies it.
	fold(c *trial)
}

// trial is one event under judgement.
type trial struct {
	*Judge
	sequence uint64
	event    *event
	by       actor
}

// at is the event's time, in milliseconds since 1970.
func (c *trial) at() int64 { return c.event.Time.UnixMilli() }

func (c *trial) fault(rule, format string, args ...any) {
	c.Judge.fault(c.sequence, rule, format, args...)
}
