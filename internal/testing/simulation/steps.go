package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"maestro/engine"
)

// kind says what a step does.
type kind int

const (
	submit    kind = iota // a client submits a command
	burst                 // several clients submit commands at once
	flood                 // so many or so large ones that they do not fit into one batch
	resolve               // a held operation gets its outcome
	cancel                // a client gives up waiting
	advance               // time passes
	skew                  // a server's clock is set, back or forth
	land                  // a late batch reaches its guard
	crash                 // a server's process dies
	powerCut              // everything dies, the disk remains
	stop                  // a server is stopped properly
	start                 // a server that is down starts
	fill                  // the disk fills
	room                  // there is room again
	flush                 // a head file is written
	snapshot              // a server stores a snapshot
	damage                // the stopped log is damaged, opened, checked, and restored
	heartbeat             // supervisors send heartbeats
	linger                // a long time passes, with heartbeats of some sessions and none of others
	sleep                 // a machine sleeps: its wall clock jumps
	pause                 // a process is suspended: its monotonic clock jumps
	deny                  // refusals can no longer be recorded
	record                // refusals can be recorded again
	leap                  // a server's wall clock jumps by years
	confirm               // the operator confirms a server's wall clock
)

var kindNames = [...]string{
	"submit",
	"burst",
	"flood",
	"resolve",
	"cancel",
	"advance",
	"skew",
	"land",
	"crash",
	"power cut",
	"stop",
	"start",
	"fill",
	"room",
	"flush",
	"snapshot",
	"damage",
	"heartbeat",
	"linger",
	"sleep",
	"pause",
	"deny",
	"record",
	"leap",
	"confirm",
}

// weights are how often each kind of step is drawn.
var weights = [...]int{
	submit:    360,
	burst:     30,
	resolve:   400,
	cancel:    10,
	advance:   25,
	skew:      10,
	land:      25,
	crash:     6,
	powerCut:  5,
	stop:      3,
	start:     120,
	fill:      3,
	room:      80,
	flush:     25,
	snapshot:  8,
	damage:    7,
	heartbeat: 25,
	linger:    14,
	sleep:     5,
	pause:     5,
	deny:      4,
	record:    40,
}

// Step is one move of the driver. What exactly it does depends on Seed and on the current state, so that a list of
// steps still makes sense when some are omitted.
type Step struct {
	Kind kind
	Seed uint64
}

func (s Step) String() string { return fmt.Sprintf("%s/%x", kindNames[s.Kind], s.Seed) }

// Plan determines a run.
type Plan struct {
	Seed uint64
	// Servers is the number of servers on the log: one that embeds it, or two on a cluster.
	Servers int
	// Furnished starts the run with projects, tasks and sessions instead of an empty log.
	Furnished bool
	// HoldAll holds syncs and reads too, not only appends.
	HoldAll bool
	// SnapshotEvery is that of the Handler's configuration.
	SnapshotEvery uint64
	// OverlapFrom is that of the Handler's configuration.
	OverlapFrom int
	// Queues makes commands about queues, questions and time more frequent than others.
	Queues bool
	// Manifests gives sessions manifests, with which they start.
	Manifests bool
	// Tokens makes commands about tokens more frequent than others; tokens expire.
	Tokens bool
	// Templates makes commands about templates more frequent than others.
	Templates bool
	// Webhooks makes clients and the server send commands about webhooks.
	Webhooks bool
	// Messages lets clients send messages to sessions; no other run has messages.
	Messages bool
	// Runs lets runners claim sessions and speak of their runs, and sessions be resumed.
	Runs bool
	// Plans makes changes of a plan more frequent than other commands.
	Plans bool
	// Gossip has sessions in projects created by sessions refused more often than there is room for records.
	Gossip bool
	// Fan has items of a queue wait for several tasks that one command reports on, or deletes, at once.
	Fan bool
	// Chatter has sessions send as many reports on some tasks as the limit allows, and more.
	Chatter bool
	// Crowd puts tasks next to the same sibling until the tasks there get new keys.
	Crowd bool
	// Leaps makes wall clocks jump by years; the Handlers have a clock that does not follow them.
	Leaps bool
	// Lease is the lease of sessions that send heartbeats, Quiet that of sessions that never have.
	Lease, Quiet time.Duration
	Steps        []Step
}

// drawSteps draws n steps by their weights.
func drawSteps(rng *rand.Rand, n int) []Step {
	total := 0
	for _, weight := range weights {
		total += weight
	}
	steps := make([]Step, 0, n)
	for range n {
		at := rng.IntN(total)
		k := kind(0)
		for at >= weights[k] {
			at -= weights[k]
			k++
		}
		steps = append(steps, Step{k, rng.Uint64()})
	}
	return steps
}

// NewPlan draws a plan from a seed.
func NewPlan(seed uint64) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x6d616573))
	p := Plan{
		Seed:          seed,
		Servers:       1 + rng.IntN(2),
		HoldAll:       rng.IntN(2) == 0,
		SnapshotEvery: uint64(3 + rng.IntN(10)),
		Furnished:     rng.IntN(4) > 0,
	}
	if rng.IntN(2) == 0 { // otherwise the first batch is always appended by itself
		p.OverlapFrom = 1 + rng.IntN(2)
	}
	p.Queues = rng.IntN(2) == 0
	p.Lease, p.Quiet = 19_987*time.Millisecond, 100_003*time.Millisecond
	if rng.IntN(4) == 0 {
		p.Lease, p.Quiet = engine.DefaultLease, engine.QuietLease
	}
	length := 20 + rng.IntN(60)
	if rng.IntN(3) == 0 {
		length = 100 + rng.IntN(150)
	}
	p.Steps = drawSteps(rng, length)
	// Each of these choices has random numbers of its own, so that adding one does not change the other runs.
	p.Manifests = rand.New(rand.NewPCG(seed, 0x6d616e69)).IntN(3) == 0
	p.Tokens = rand.New(rand.NewPCG(seed, 0x6578706972)).IntN(4) == 0
	p.Webhooks = rand.New(rand.NewPCG(seed, 0x686f6f6b)).IntN(6) == 0
	p.Templates = rand.New(rand.NewPCG(seed, 0x74656d70)).IntN(6) == 0
	if p.Gossip = fewDenials(seed) && rand.New(rand.NewPCG(seed, 0x676f73736970)).IntN(3) == 0; p.Gossip {
		p.Furnished = true
	}
	p.Messages = seed%250 >= 216 && seed%250 <= 242
	if p.Plans = seed%250 >= 40 && seed%250 <= 59; p.Plans {
		p.Furnished = true // a fault in plans shows only after many changes
		p.Steps = append(p.Steps, drawSteps(rand.New(rand.NewPCG(seed, 0x706c616e73)), 250)...)
	}
	if p.Runs = seed%250 >= 60 && seed%250 <= 89; p.Runs {
		p.Furnished = true
		p.Steps = append(p.Steps, drawSteps(rand.New(rand.NewPCG(seed, 0x72756e73)), 250)...)
	}
	p.Fan = rand.New(rand.NewPCG(seed, 0x66616e)).IntN(8) == 0
	p.Chatter = seed%11 == 8
	p.Crowd = seed%11 == 9
	if later := rand.New(rand.NewPCG(seed, 0x6c656170)); later.IntN(3) == 0 {
		p.Leaps = true
		for range 1 + later.IntN(5) {
			at := later.IntN(len(p.Steps) + 1)
			p.Steps = slices.Insert(p.Steps, at, Step{leap, later.Uint64()})
			if later.IntN(3) == 0 {
				at += later.IntN(len(p.Steps) - at)
				p.Steps = slices.Insert(p.Steps, at+1, Step{confirm, later.Uint64()})
			}
		}
	}
	if n := seed % 250; n == 124 || n == lateFlood || n == lateWords { // a flood takes long
		p.Furnished, p.Steps[0].Kind = true, flood
	}
	return p
}
