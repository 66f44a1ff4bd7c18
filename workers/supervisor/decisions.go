package supervisor

import (
	"encoding/json"
	"io"
	"log/slog"
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
// output shows is compared with it: a call that ended, or has run for some time, without a decision means that the
// agent's guard was off.
type decisions struct {
	file   io.Writer
	after  func(time.Duration, func()) (stop func() bool)
	logger *slog.Logger
	// unguarded is called once for a call without a decision.
	unguarded func(tool, what string)

	mu sync.Mutex
	// decided counts the decisions that no shown call has used, by key; open are the shown calls without one.
	decided map[string]int
	open    map[string]*shownCall
	told    bool
}

// shownCall is a call in the output that has no decision yet.
type shownCall struct {
	key, tool, what string
	stop            func() bool
}

func newDecisions(file io.Writer, logger *slog.Logger, unguarded func(tool, what string)) *decisions {
	return &decisions{
		file:      file,
		logger:    logger,
		unguarded: unguarded,
		decided:   map[string]int{},
		open:      map[string]*shownCall{},
		after: func(wait time.Duration, then func()) func() bool {
			return time.AfterFunc(wait, then).Stop
		},
	}
}

// begin counts a decision that is being made: an answer may take long, and the call waits for it.
func (d *decisions) begin(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, call := range d.open {
		if call.key == key {
			call.stop()
			delete(d.open, id)
			return
		}
	}
	d.decided[key]++
}

// record writes a decision down. It fails if that is not possible; the call must then be denied.
func (d *decisions) record(made decision) error {
	line, err := json.Marshal(made)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.file.Write(append(line, '\n'))
	return err
}

// shown notes a call that the output shows.
func (d *decisions) shown(id, key, tool, what string) {
	if key == "" {
		return // its program asks no hook about it
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decided[key] > 0 {
		if d.decided[key]--; d.decided[key] == 0 {
			delete(d.decided, key)
		}
		return
	}
	call := &shownCall{key: key, tool: tool, what: what}
	call.stop = d.after(grace, func() { d.expire(id, call) })
	d.open[id] = call
}

// returned notes that a call ended. One that failed may not have run: its program did not get that far.
func (d *decisions) returned(id string, failed bool) {
	d.mu.Lock()
	call := d.open[id]
	delete(d.open, id)
	d.mu.Unlock()
	if call != nil && call.stop() && !failed {
		d.tell(call)
	}
}

func (d *decisions) expire(id string, call *shownCall) {
	d.mu.Lock()
	still := d.open[id] == call
	if still {
		delete(d.open, id)
	}
	d.mu.Unlock()
	if still {
		d.tell(call)
	}
}

func (d *decisions) tell(call *shownCall) {
	d.mu.Lock()
	told := d.told
	d.told = true
	d.mu.Unlock()
	if !told {
		d.logger.Error("a tool call ran without a decision", "tool", call.tool, "call", call.what)
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
	clear(d.open)
	clear(d.decided)
}
