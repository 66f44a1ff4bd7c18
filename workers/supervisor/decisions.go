package supervisor

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// decision is what was decided about a tool call of the agent.
type decision struct {
	At      time.Time `json:"at"`
	Run     int       `json:"run"`
	Agent   string    `json:"agent"`
	Tool    string    `json:"tool"`
	Key     string    `json:"key"`
	Command string    `json:"command,omitempty"`
	Allowed bool      `json:"allowed"`
	Rule    string    `json:"rule,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// grace is how long a call that the output shows may have no decision: the agent's program prints a call before it asks
// its hook about it.
const grace = 20 * time.Second

// decisions is the log of the decisions about a run's tool calls, in the home, where no agent can write. What the
// output shows is compared with it: a call that ran without a decision, or in spite of one, means that the agent's
// guard was off.
type decisions struct {
	file io.Writer
	// blank removes secrets from what is written.
	blank  func(text string) string
	after  func(time.Duration, func()) (stop func() bool)
	logger *slog.Logger
	// unguarded is called once, for the first such call.
	unguarded func(tool, what string)

	mu sync.Mutex
	// unused counts the decisions that no shown call has used, by key. Equal calls have equal keys.
	unused map[string]*tally
	// open are the shown calls without a decision, in the order in which they were shown; denied those that may not
	// run, by their id in the output.
	open   []*shownCall
	denied map[string]*shownCall
	told   bool
}

// tally counts decisions.
type tally struct{ allowed, denied int }

// shownCall is a call in the output.
type shownCall struct {
	id, key, tool, what string
	// ran says that the program shows only calls that run.
	ran bool
	// pending says that its decision is being made.
	pending bool
	stop    func() bool
}

func newDecisions(
	file io.Writer, blank func(string) string, logger *slog.Logger, unguarded func(tool, what string),
) *decisions {
	return &decisions{
		file:      file,
		blank:     blank,
		logger:    logger,
		unguarded: unguarded,
		unused:    map[string]*tally{},
		denied:    map[string]*shownCall{},
		after: func(wait time.Duration, then func()) func() bool {
			return time.AfterFunc(wait, then).Stop
		},
	}
}

// begin notes that a decision is being made: that may take long, and the call waits for it.
func (d *decisions) begin(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, call := range d.open {
		if call.key == key && !call.pending {
			call.pending = true
			call.stop()
			return
		}
	}
}

// record writes a decision down. It fails if that is not possible; the call must then be denied.
func (d *decisions) record(made decision) error {
	made.Command, made.Reason = d.blank(made.Command), d.blank(made.Reason)
	line, err := json.Marshal(made)
	if err == nil {
		d.mu.Lock()
		_, err = d.file.Write(append(line, '\n'))
		d.mu.Unlock()
	}
	d.use(made.Key, made.Allowed && err == nil)
	return err
}

// use gives a decision to the first shown call that it is about, or keeps it for the next one.
func (d *decisions) use(key string, allowed bool) {
	d.mu.Lock()
	at := slices.IndexFunc(d.open, func(call *shownCall) bool { return call.key == key })
	if at < 0 {
		t := d.unused[key]
		if t == nil {
			t = &tally{}
			d.unused[key] = t
		}
		if allowed {
			t.allowed++
		} else {
			t.denied++
		}
		d.mu.Unlock()
		return
	}
	call := d.open[at]
	call.stop()
	d.open = slices.Delete(d.open, at, at+1)
	d.mu.Unlock()
	d.settle(call, allowed)
}

// settle notes the decision about a shown call.
func (d *decisions) settle(call *shownCall, allowed bool) {
	switch {
	case allowed:
	case call.ran:
		d.tell(call)
	default: // it has to fail
		d.mu.Lock()
		d.denied[call.id] = call
		d.mu.Unlock()
	}
}

// shown notes a call that the output shows. ran says that the program shows only calls that run.
func (d *decisions) shown(id, key, tool, what string, ran bool) {
	if key == "" {
		return // its program asks no hook about it
	}
	call := &shownCall{
		id:   id,
		key:  key,
		tool: tool,
		what: what,
		ran:  ran,
	}
	d.mu.Lock()
	t := d.unused[key]
	switch {
	case t != nil && t.allowed > 0:
		t.allowed--
	case t != nil && t.denied > 0 && !ran:
		t.denied--
		d.denied[id] = call
	default:
		call.stop = d.after(grace, func() { d.expire(call) })
		d.open = append(d.open, call)
	}
	if t != nil && *t == (tally{}) {
		delete(d.unused, key)
	}
	d.mu.Unlock()
}

// returned notes that a call ended. One that failed may not have run: its program did not get that far, or the hook
// denied it.
func (d *decisions) returned(id string, failed bool) {
	d.mu.Lock()
	call := d.denied[id]
	delete(d.denied, id)
	if at := slices.IndexFunc(d.open, func(c *shownCall) bool { return c.id == id }); at >= 0 {
		call = d.open[at]
		call.stop()
		d.open = slices.Delete(d.open, at, at+1)
	}
	d.mu.Unlock()
	if call != nil && !failed {
		d.tell(call)
	}
}

// expire notes that a call has no decision in time.
func (d *decisions) expire(call *shownCall) {
	d.mu.Lock()
	at := slices.Index(d.open, call)
	if at >= 0 && !call.pending {
		d.open = slices.Delete(d.open, at, at+1)
	}
	d.mu.Unlock()
	if at >= 0 && !call.pending {
		d.tell(call)
	}
}

func (d *decisions) tell(call *shownCall) {
	d.mu.Lock()
	told := d.told
	d.told = true
	d.mu.Unlock()
	if !told {
		d.logger.Error("a tool call ran without the permission of its hook", "tool", call.tool,
			"call", d.blank(call.what))
		d.unguarded(call.tool, call.what)
	}
}

// reset forgets the calls of a launch that ended.
func (d *decisions) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, call := range d.open {
		call.stop()
	}
	d.open = nil
	clear(d.denied)
	clear(d.unused)
}
