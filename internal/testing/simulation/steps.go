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
	flood                 // so many or so large ones that no batch takes them all
	resolve               // a held operation comes to its outcome
	cancel                // a client gives up waiting
	advance               // time passes
	skew                  // a server's clock is set, back or forth
	land                  // a late batch comes to its guard
	crash                 // a server's process dies
	powerCut              // everything dies, the disk remains
	stop                  // a server is stopped in order
	start                 // a server that is down starts
	fill                  // the disk fills
	room                  // there is room again
	flush                 // a head file is written
	snapshot              // a server stores a snapshot
	damage                // the stopped log is harmed, opened, judged, and restored
	heartbeat             // supervisors say that their sessions are there
	linger                // a long time passes, with heartbeats of some sessions and none of others
	sleep                 // a machine sleeps: its wall clock jumps
	pause                 // a process stands still: its monotonic clock jumps
	deny                  // refusals can no longer be recorded
	record                // they can again
	leap                  // a server's clock is set by years
	confirm               // the operator takes a server's clock to be right
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

// weights say how often each kind of step comes.
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

// Step is one move of the driver. What exactly it does follows from Seed and from how things stand, so that a list of
// steps still makes sense when some are left out.
type Step struct {
	Kind kind
	Seed uint64
}

func (s Step) String() string { return fmt.Sprintf("%s/%x", kindNames[s.Kind], s.Seed) }

// Plan is everything that decides a run.
type Plan struct {
	Seed uint64
	// Servers share the log: one that embeds it, or two on a cluster.
	Servers int
	// Furnished begins with projects, tasks and sessions instead of nothing.
	Furnished bool
	// HoldAll holds syncs and reads too, not only appends.
	HoldAll bool
	// SnapshotEvery is the Handler's.
	SnapshotEvery uint64
	// Queues lets queues, questions and time come up more often than the rest.
	Queues bool
	// Manifests gives sessions manifests, and lets them begin with them.
	Manifests bool
	// Tokens lets tokens expire, make others and be revoked more often than the rest.
	Tokens bool
	// Templates lets templates be made, changed and deleted more often than the rest.
	Templates bool
	// Messages lets sessions be written to, which no other run does.
	Messages bool
	// Plans lets a plan be changed more often than the rest.
	Plans bool
	// Gossip lets sessions in projects that sessions made be refused more often than there are records.
	Gossip bool
	// Fan lets items of a queue wait for tasks that are reported on, and deleted, several at once.
	Fan bool
	// Chatter lets sessions say as much of some tasks as they may, and more.
	Chatter bool
	// Leaps lets wall clocks leap by years; the Handlers have a clock that does not follow.
	Leaps bool
	// Lease and Quiet are for sessions that send heartbeats, and for those that never did.
	Lease, Quiet time.Duration
	Steps        []Step
}

// drawSteps draws n steps, each kind as often as its weight says.
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
	// What came later has its own dice, so that the runs without it stay as they were.
	p.Manifests = rand.New(rand.NewPCG(seed, 0x6d616e69)).IntN(3) == 0
	p.Tokens = rand.New(rand.NewPCG(seed, 0x6578706972)).IntN(4) == 0
	p.Templates = rand.New(rand.NewPCG(seed, 0x74656d70)).IntN(6) == 0
	if p.Gossip = fewDenials(seed) && rand.New(rand.NewPCG(seed, 0x676f73736970)).IntN(3) == 0; p.Gossip {
		p.Furnished = true
	}
	p.Messages = seed%250 >= 216 && seed%250 <= 242
	if p.Plans = seed%250 >= 40 && seed%250 <= 59; p.Plans {
		p.Furnished = true // and it takes many changes until a plan is one that a fault shows in
		p.Steps = append(p.Steps, drawSteps(rand.New(rand.NewPCG(seed, 0x706c616e73)), 250)...)
	}
	p.Fan = rand.New(rand.NewPCG(seed, 0x66616e)).IntN(8) == 0
	p.Chatter = seed%11 == 8
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
	if n := seed % 250; n == 124 || n == lateFlood || n == lateWords { // it takes its time
		p.Furnished, p.Steps[0].Kind = true, flood
	}
	return p
}
