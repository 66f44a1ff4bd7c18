package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"maestro/service/wire"
)

// Options configures the demonstration.
type Options struct {
	// Binary is the maestro binary to run.
	Binary string
	// Plan is the content of the plan file that is applied. Its tasks "languages" and "announce" contain the others,
	// which are queued.
	Plan []byte
	// Dir is where the home and the exported log are left.
	Dir string
	// Lease is how long a session may be silent.
	Lease time.Duration
	// Confine is what the server is told about confinement; "" for its default.
	Confine string
	// Out receives the story.
	Out io.Writer
}

const (
	// workers is the number of workers on the queue.
	workers   = 12
	queueName = "languages"
	// agentName is the name of the configured command that plays each agent, homeName that of the home's directory.
	agentName, homeName = "scripted", "home"
	// rootTask and goalTask are the plan ids of the tasks for the queue, and for the orchestrator.
	rootTask, goalTask = "languages", "announce"
)

// atMost bounds the whole demonstration, so that a wait for something that never happens ends.
const atMost = 4 * time.Minute

// lookWithin bounds the look at what waits, once the demonstration has failed.
const lookWithin = 10 * time.Second

// demonstration is one run.
type demonstration struct {
	Options
	// home is that of the server, target where the agents work, workspaces where their runner keeps what they print.
	home, log, target, workspaces string

	you      *caller
	began    time.Time
	server   *exec.Cmd
	project  string
	tasks    map[string]string // ids by plan id
	queued   []string
	cast     map[string]*actor // by name
	crew     sync.WaitGroup    // what follows the agents
	ended    chan struct{}     // closed when all sessions have ended
	allEnded sync.Once
	output   sync.WaitGroup // of servers
	fail     context.CancelCauseFunc

	mu       sync.Mutex // guards the fields below, what the actors share, and Out
	evidence Evidence
	actors   map[string]*actor // by session
}

// situation is what explains a failure: the sessions, the inbox and the end of the server's log.
func (d *demonstration) situation(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	var b strings.Builder
	for _, look := range [][]string{{"session", "list", "--project", d.project, "-o", "jsonl"}, {"inbox"}} {
		if said, err := d.you.text(ctx, look...); err == nil { // otherwise the server does not run: the log says why
			fmt.Fprintf(&b, "\n(maestro %s)\n%s", look[0], said)
		}
	}
	return b.String() + d.logged()
}

// Run plays the main job in an empty home and judges the log. It fails if any of Maestro's promises did not hold. The
// evidence is the input of the judgement.
func Run(ctx context.Context, o Options) (evidence Evidence, err error) {
	d := &demonstration{
		Options:    o,
		home:       filepath.Join(o.Dir, homeName),
		log:        filepath.Join(o.Dir, "log.ndjson"),
		target:     filepath.Join(o.Dir, "shop"),
		workspaces: filepath.Join(o.Dir, "workspaces"),
		began:      time.Now(),
		cast:       map[string]*actor{},
		actors:     map[string]*actor{},
		ended:      make(chan struct{}),
	}
	d.you = &caller{binary: o.Binary, env: d.environment(), acknowledged: d.acknowledge}
	ctx, over := context.WithTimeoutCause(ctx, atMost, fmt.Errorf("the demonstration takes longer than %s", atMost))
	defer over()
	ctx, d.fail = context.WithCancelCause(ctx)
	defer func() {
		d.fail(err) // ends what follows the agents
		d.crew.Wait()
		if err != nil {
			err = fmt.Errorf("%w%s", err, d.situation(ctx))
		}
		err = errors.Join(err, d.stop())
		d.endAgents(err != nil)
		d.output.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n(the home is %s)", err, d.home)
		}
	}()
	for _, scene := range []func(context.Context) error{
		d.prepare, d.assemble, d.killServer, d.killWorkers, d.answer, d.message, d.reopen, d.release, d.confirm,
		d.judge,
	} {
		if err := scene(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return d.evidence, err
		}
	}
	return d.evidence, nil
}

// environment is the machine's, with a home of its own and no other Maestro variables but the directory of the
// workspaces.
func (d *demonstration) environment() (env []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "MAESTRO_") && !strings.HasPrefix(variable, "HOME=") {
			env = append(env, variable)
		}
	}
	return append(env, "HOME="+d.Dir, "MAESTRO_HOME="+d.home, wire.EnvWorkspace+"="+d.workspaces)
}

// tell adds a line to the story.
func (d *demonstration) tell(who, format string, args ...any) {
	d.print("%6.1fs  %-10s %s\n", time.Since(d.began).Seconds(), who, fmt.Sprintf(format, args...))
}

// print writes text. Without a reader the demonstration ends, with everything that it started.
func (d *demonstration) print(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := fmt.Fprintf(d.Out, format, args...); err != nil {
		d.fail(fmt.Errorf("tell what happens: %w", err))
	}
}

// acknowledge records the events that the server acknowledged.
func (d *demonstration) acknowledge(ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.evidence.Acknowledged = append(d.evidence.Acknowledged, ids...)
}
