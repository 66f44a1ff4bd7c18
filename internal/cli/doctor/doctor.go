package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/confine"
)

// within bounds the whole examination of a server: one that does not answer is a finding.
const within = 20 * time.Second

// check looks at one subject.
type check struct {
	// subject is shown if nothing was found.
	subject string
	needs   need
	look    func(ctx context.Context, x *examination) []Finding
}

// need is what a check cannot be made without.
type need int

// The needs.
const (
	nothing need = iota
	theServer
	theHome
	ownServer // the home, and the server that holds it
)

// has reports whether there is what a check needs.
func (x *examination) has(n need) bool {
	switch n {
	case theServer:
		return x.server != nil
	case theHome:
		return x.home != nil
	case ownServer:
		return x.home != nil && x.own
	case nothing:
	}
	return true
}

// checks are all checks, in the order in which they run: the connection is first, because others need it.
var checks = []check{
	{"the connection to the server", theServer, lookAtConnection},
	{"the versions of the server and of this program", theServer, lookAtVersions},
	{"what the server itself says", theServer, lookAtReady},
	{"the clocks", theServer, lookAtClocks},
	{"the server's figures", theServer, lookAtFigures},
	{"refusals", theServer, lookAtRefusals},
	{"webhooks", theServer, lookAtWebhooks},
	{"named tokens", theServer, lookAtTokens},
	{"runs that wait for an answer", theServer, lookAtRuns},
	{"the home's files", theHome, lookAtHome},
	{"the configuration", theHome, lookAtConfig},
	{"the store", theHome, lookAtStore},
	{"the head of the log and its witness", theHome, lookAtHead},
	{"leftovers of a crash", theHome, lookAtLeftovers},
	{"automatic backups", theHome, lookAtBackups},
	{"kept commands", theHome, lookAtOutboxes},
	{"the kernel", nothing, lookAtKernel},
	{"the hook that judges the tool calls of agents", theHome, lookAtHook},
	{"agents", theHome, lookAtAgents},
	{"the supervisors of agents", ownServer, lookAtSupervisors},
	{"the workspaces of agents", theHome, lookAtWorkspaces},
	{"what confines agents", theHome, lookAtConfinement},
}

// examination is what the checks share.
type examination struct {
	*cli.Run
	// server is nil if it cannot be reached.
	server *client.Client
	// reads says that the caller may read everything. For any other it is not even tried: a refusal is recorded.
	reads bool
	// admin says that the caller is an admin: only the user sees the runners.
	admin bool
	// session says that this process belongs to a session: the home is not for it.
	session bool
	// dir is the home's path; home is nil if it cannot be opened, and opened says why.
	dir    string
	home   *home.Home
	opened error
	// runs says that a server holds the home, own that it is the one that was reached.
	runs, own bool
	// backupDir is where the home's backups are; "" for the default.
	backupDir string
	// workspaces is where the workspaces of agents are; "" for the default. needed are the agents that are needed, and
	// why. machine answers for this machine.
	workspaces string
	needed     map[string]string
	machine    machine
	// runner is what the runner inside the home's server says about itself, nil if there is none or that is not known;
	// asked says that it was looked for.
	runner *wire.Runner
	asked  bool
	// supports are the layers of confinement of this machine, once they were probed.
	supports []confine.Support
	probed   bool
	figures  figures
	// left are the subjects that the caller may not see.
	left []string
}

// doctor is `maestro doctor`.
type doctor struct {
	*cli.Run
	all        bool
	backupDir  string
	workspaces string
}

// New returns `maestro doctor`.
func New(a *cli.Run) *cobra.Command {
	c := &doctor{Run: a}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with the server and its home, why it matters, and what to do",
		Args:  cli.Takes,
		Long: `Look at the server, and at its home if that is on this machine: the connection,
versions, what /readyz and /metrics say, clocks, refusals, tokens, files and
their modes, the store, backups, kept commands, agents, and what confines them.
It changes nothing, and works without a server too.

Each finding says what is wrong, why that matters, and what to do. With --all,
also what is good to know, and each check that found nothing.

Exit codes: 0 nothing is wrong, 1 at least one error, 8 only warnings. An admin
or an auditor token sees everything; a session sees only the server.`,
		RunE: cli.Running(c.run),
	}
	cmd.Flags().BoolVar(&c.all, "all", false, "show what is good to know, and each check that found nothing, too")
	cmd.Flags().StringVar(&c.backupDir, "backup-dir", "", "the directory of the automatic backups; else HOME-backups")
	cmd.Flags().StringVar(&c.workspaces, "workspaces", "",
		"the directory of the agents' workspaces; by default MAESTRO_WORKSPACE, or ~/orchestrator/workspace")
	cli.ValueName(cmd, "workspaces", "<dir>")
	return cmd
}

// report is the JSON output.
type report struct {
	// Verdict is the highest severity: error, warning or ok.
	Verdict  Severity  `json:"verdict"`
	Findings []Finding `json:"findings"`
}

func (c *doctor) run(whole context.Context, _ []string) error {
	ctx, cancel := context.WithTimeout(whole, within)
	defer cancel()
	x := &examination{
		Run:        c.Run,
		backupDir:  c.backupDir,
		workspaces: c.workspaces,
		machine:    thisMachine(),
		session:    isSession(c.Getenv),
	}
	defer x.close()
	x.openHome()
	r := report{Verdict: OK, Findings: []Finding{}}
	for _, check := range checks {
		left := len(x.left)
		found := check.look(ctx, x)
		if err := whole.Err(); err != nil { // interrupted: what failed because of that is no finding
			return err
		}
		if !slices.ContainsFunc(found, Finding.isWrong) && c.all {
			one := Finding{ID: "ok", Severity: OK, What: check.subject}
			if !x.has(check.needs) || len(x.left) > left {
				one.ID, one.Severity = "not-checked", NotChecked
			}
			found = append(found, one)
		}
		r.add(found, c.all)
	}
	if len(x.left) > 0 {
		r.add([]Finding{limited.found("Not looked at: "+strings.Join(x.left, ", "), "this caller may not see it",
			"run it as the user, or with an admin or auditor token in MAESTRO_TOKEN")}, true)
	}
	c.Result(r, func() { c.show(r) })
	if r.Verdict == OK {
		return nil
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "DOCTOR",
		Partial: r.Verdict == Warning,
		Shown:   true,
	}
}

func (f Finding) isWrong() bool { return f.Severity == Error || f.Severity == Warning }

// add adds the findings that are to be shown.
func (r *report) add(found []Finding, all bool) {
	for _, f := range found {
		switch {
		case f.Severity == Error, f.Severity == Warning && r.Verdict != Error:
			r.Verdict = f.Severity
		}
		if all || f.isWrong() {
			r.Findings = append(r.Findings, f)
		}
	}
}

// show prints the findings for people.
func (c *doctor) show(r report) {
	for _, f := range r.Findings {
		id := f.ID
		if f.Code != "" {
			id += " " + f.Code
		}
		if f.Severity == OK || f.Severity == NotChecked {
			c.Print("%s: %s\n", f.Severity, f.What)
			continue
		}
		c.Print("%s: %s [%s]\n", f.Severity, f.What, id)
		c.Field("Why", f.Why)
		c.Field("Next", f.Next)
	}
	switch {
	case r.Verdict == OK && r.Findings != nil && slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.ID == limited.ID
	}):
		c.Print("Nothing is wrong in what was looked at\n")
	case r.Verdict == OK:
		c.Print("Nothing is wrong\n")
	}
}

func isSession(getenv func(string) string) bool {
	return getenv(wire.EnvSessionID) != "" || strings.HasPrefix(getenv(wire.EnvToken), wire.SessionTokenPrefix)
}

// openHome opens the home for the checks. A session's process gets none.
func (x *examination) openHome() {
	if x.session {
		x.left = append(x.left, "the home")
		return
	}
	x.dir, x.opened = home.Path(x.Getenv)
	if x.opened != nil {
		return
	}
	if x.home, x.opened = home.Open(x.dir); x.opened == nil {
		x.runs = x.home.Running()
	}
}

func (x *examination) close() {
	if x.home != nil {
		_ = x.home.Close()
	}
}

// noHome reports whether there is no home on this machine.
func (x *examination) noHome() bool { return errors.Is(x.opened, fs.ErrNotExist) }

// may reports whether there is a server and the caller may see something of it. It notes what the caller may not see.
func (x *examination) may(what string) bool {
	if x.server != nil && !x.reads {
		x.left = append(x.left, what)
	}
	return x.server != nil && x.reads
}
