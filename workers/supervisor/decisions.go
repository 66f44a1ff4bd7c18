package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"maestro/workers/agent"
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
// its hook about it, which then has that long to get here.
const grace = agent.LineWithin + 5*time.Second

// The limits of what is kept of an agent's calls, which can be any number.
const (
	// mostDecisions bounds the log, in bytes. It has room for more than 100,000 calls. Then every call is denied: the
	// log loses nothing, and no call runs that is not in it.
	mostDecisions = 64 << 20
	// mostUnused is how many decisions are kept that no shown call has used. The output does not show each call of a
	// subagent. Of more, the oldest are forgotten: if such a call is shown after all, it counts as one without a
	// decision.
	mostUnused = 4096
	// longestKey bounds a key, in bytes. A longer one is not a CLI's; its digest stands for it.
	longestKey = 200
)

// bounded is a file that takes only some more bytes.
type bounded struct {
	io.Writer
	left int64
}

// Write implements io.Writer. It writes nothing of what is too much.
func (b *bounded) Write(content []byte) (n int, err error) {
	if int64(len(content)) > b.left {
		return 0, fmt.Errorf("the log of decisions is full, with %d MiB: a person can move it away and resume the "+
			"session", mostDecisions>>20)
	}
	n, err = b.Writer.Write(content)
	b.left -= int64(n)
	return n, err
}

// boundDecisions returns the writer of the log that a file has, which earlier runs may have begun.
func boundDecisions(file *os.File) (*bounded, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return &bounded{file, mostDecisions - info.Size()}, nil
}

// keyOf returns the key of a call as it is kept.
func keyOf(key string) string {
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

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
	// making counts the decisions that are being made, by key, and unused those that no shown call has used. Equal
	// calls have equal keys, so nobody knows which decision is about which of them: only the numbers have to agree.
	making map[string]int
	unused map[string]*tally
	// tallies counts the tallies that there were.
	tallies int
	// open are the shown calls without a decision, in the order in which they were shown. allowed are those that may
	// run and have not ended, denied those that may not, by their id in the output.
	open            []*shownCall
	allowed, denied map[string]*shownCall
	told            bool
	// launch counts the launches of the agent's program.
	launch int
}

// tally counts decisions. Of two, the one with the lower number is older.
type tally struct{ allowed, denied, number int }

func (t *tally) none() bool { return t.allowed == 0 && t.denied == 0 }

// shownCall is a call in the output.
type shownCall struct {
	id, key, tool, what string
	// ran says that the program shows only calls that run.
	ran  bool
	stop func() bool
}

// asked is a call that the agent's program asked its hook about.
type asked struct {
	key    string
	launch int
}

func newDecisions(
	file io.Writer, blank func(string) string, logger *slog.Logger, unguarded func(tool, what string),
) *decisions {
	return &decisions{
		file:      file,
		blank:     blank,
		logger:    logger,
		unguarded: unguarded,
		making:    map[string]int{},
		unused:    map[string]*tally{},
		allowed:   map[string]*shownCall{},
		denied:    map[string]*shownCall{},
		after: func(wait time.Duration, then func()) func() bool {
			return time.AfterFunc(wait, then).Stop
		},
	}
}

// begin notes that a decision is being made, which ends with record. That may take long, and the call waits for it,
// whether the output shows the call before or after it.
func (d *decisions) begin(key string) asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	key = keyOf(key)
	d.making[key]++
	return asked{key, d.launch}
}

// record writes a decision down. It fails if that is not possible; the call must then be denied.
func (d *decisions) record(about asked, made decision) error {
	err := d.write(about, made)
	d.use(about, made.Allowed && err == nil)
	return err
}

// withdraw writes down that a hook did not get the permission that was recorded, and denied the call.
func (d *decisions) withdraw(about asked, made decision) error {
	d.mu.Lock()
	if about.launch == d.launch {
		d.take(about.key)
	}
	d.mu.Unlock()
	return d.write(about, made)
}

// take makes a permission for a key a denial: one that no call has used, or that of a call that has not run for sure.
// The caller holds the mutex.
func (d *decisions) take(key string) {
	if t := d.unused[key]; t != nil && t.allowed > 0 {
		t.allowed--
		t.denied++
		return
	}
	for id, call := range d.allowed {
		if call.key == key && !call.ran {
			delete(d.allowed, id)
			d.denied[id] = call
			return
		}
	}
}

// write adds a line to the log.
func (d *decisions) write(about asked, made decision) error {
	made.Key, made.Tool = about.key, nameOf(made.Tool)
	made.Command, made.Reason = short(d.blank(made.Command)), short(d.blank(made.Reason))
	line, err := json.Marshal(made)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.file.Write(append(line, '\n'))
	return err
}

// use gives a decision to the first shown call that it is about, or keeps it for the next one.
func (d *decisions) use(about asked, allowed bool) {
	d.mu.Lock()
	if about.launch != d.launch { // the program that asked has ended
		d.mu.Unlock()
		return
	}
	key := about.key
	if d.making[key]--; d.making[key] == 0 {
		delete(d.making, key)
	}
	at := slices.IndexFunc(d.open, func(call *shownCall) bool { return call.key == key })
	if at < 0 {
		if t := d.tallyOf(key); allowed {
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
	against := !allowed && call.ran
	switch {
	case allowed:
		d.allowed[call.id] = call
	case !against: // it has to fail
		d.denied[call.id] = call
	}
	d.mu.Unlock()
	if against {
		d.tell(call)
	}
}

// tallyOf returns the tally of the unused decisions about a key, and forgets the oldest one if there are too many; the
// caller holds the mutex.
func (d *decisions) tallyOf(key string) *tally {
	if t := d.unused[key]; t != nil {
		return t
	}
	if len(d.unused) >= mostUnused {
		oldest := ""
		for other, t := range d.unused {
			if oldest == "" || t.number < d.unused[oldest].number {
				oldest = other
			}
		}
		delete(d.unused, oldest)
	}
	d.tallies++
	t := &tally{number: d.tallies}
	d.unused[key] = t
	return t
}

// shown notes a call that the output shows. ran says that the program shows only calls that run.
func (d *decisions) shown(id, key, tool, what string, ran bool) {
	if key == "" {
		return // its program asks no hook about it
	}
	key = keyOf(key)
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
		d.allowed[id] = call
	case t != nil && t.denied > 0 && !ran:
		t.denied--
		d.denied[id] = call
	default:
		d.await(call)
	}
	if t != nil && t.none() {
		delete(d.unused, key)
	}
	d.mu.Unlock()
}

// await keeps a shown call until there is a decision about it; the caller holds the mutex.
func (d *decisions) await(call *shownCall) {
	call.stop = d.after(grace, func() { d.expire(call) })
	d.open = append(d.open, call)
}

// returned notes that a call ended. One that failed may not have run: its program did not get that far, or the hook
// denied it.
func (d *decisions) returned(id string, failed bool) {
	d.mu.Lock()
	delete(d.allowed, id)
	call := d.denied[id]
	denied := call != nil
	delete(d.denied, id)
	if at := slices.IndexFunc(d.open, func(c *shownCall) bool { return c.id == id }); at >= 0 {
		call = d.open[at]
		call.stop()
		d.open = slices.Delete(d.open, at, at+1)
	}
	unguarded := call != nil && !failed && !d.swap(call.key, denied)
	d.mu.Unlock()
	if unguarded {
		d.tell(call)
	}
}

// swap takes the permission of an equal call for one that ran, and lets that one have the denial, or wait for a
// decision. It reports whether there is such a permission; the caller holds the mutex.
func (d *decisions) swap(key string, denied bool) bool {
	for id, other := range d.allowed {
		if other.key != key || other.ran {
			continue
		}
		delete(d.allowed, id)
		if denied {
			d.denied[id] = other
		} else {
			d.await(other)
		}
		return true
	}
	t := d.unused[key]
	if t == nil || t.allowed == 0 {
		return false
	}
	if t.allowed--; denied {
		t.denied++
	}
	if t.none() {
		delete(d.unused, key)
	}
	return true
}

// expire notes that a call has no decision in time. One whose decision is being made waits for it.
func (d *decisions) expire(call *shownCall) {
	d.mu.Lock()
	before, at := 0, slices.Index(d.open, call)
	for _, other := range d.open[:max(at, 0)] {
		if other.key == call.key {
			before++ // the decisions that come are about these first
		}
	}
	late := at >= 0 && before >= d.making[call.key]
	if late {
		d.open = slices.Delete(d.open, at, at+1)
	}
	d.mu.Unlock()
	if late {
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
	d.launch++
	clear(d.making)
	clear(d.allowed)
	clear(d.denied)
	clear(d.unused)
}
