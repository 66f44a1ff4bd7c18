package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
)

// Run is one run of the command line: its streams, its environment, and the state that all commands share.
type Run struct {
	// client calls the server; nil until it is found.
	client *client.Client
	// moved is the new address of a server that was restarted elsewhere during a wait; otherwise "".
	moved string
	// homeToken says that the credential is that of the home, and not of the environment.
	homeToken bool
	// moment is the time of which --at makes the reads ask; "" for the present.
	moment string
	// titles are the titles of tasks that a command for many tasks shows with its results, by id.
	titles map[string]string
	// Env is the environment, Stdin the input for -.
	Env   map[string]string
	Stdin io.Reader
	Printer
	// dryRun is --dry-run of a write.
	dryRun bool
	// waiting is the session's unread mail, according to the server's last answer. A run makes one call at a time.
	waiting []string
	// damage is why the server lacks acknowledged events, according to its last answer; otherwise "".
	damage string
	// Wall is the machine's wall clock.
	Wall func() time.Time
	// Parent returns the id of the process's parent; startedBy is the first value.
	Parent    func() int
	startedBy int
	// delivered says that this run has handled the outbox, and backlog holds the server's error if it could not accept
	// the waiting commands.
	delivered bool
	backlog   error
	// More are the commands that need the server's packages.
	More []Noun
	// projectFrom names the source of MAESTRO_PROJECT_ID in Env, if it is not the environment.
	projectFrom string
	// readsFile reports, for some commands, whether they read a file, whose projects are not those of a server.
	readsFile map[*cobra.Command]func(args []string) bool
	// refused counts the kept commands that the server refused in this run.
	refused int
	// unknown are the texts on the command line that may name a task, but could not be looked up.
	unknown []string
}

// Main is the whole program except for the process around it and the commands that more adds. It returns the exit code.
func Main(
	ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer,
	more ...Noun,
) int {
	a := &Run{
		Env:       environment(env),
		Stdin:     stdin,
		Printer:   Printer{Stdout: stdout, Stderr: stderr, JSON: asksForJSON(args)},
		Wall:      time.Now,
		Parent:    os.Getppid,
		startedBy: os.Getppid(),
		More:      more,
	}
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			err := failure.Usage("Argument %d is not valid UTF-8: %q", i+1, arg)
			a.complain(err)
			return exitCode(err)
		}
	}
	root := a.rootFor(args)
	root.SetArgs(args)
	unknownHelp := helpKnown(root)
	completeInBash(root, args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeFlags(a, root)
	}
	a.nextFor = a.followable
	called, err := execute(ctx, root, args)
	if err == nil {
		err = *unknownHelp
	}
	a.fieldNames = called.Annotations
	var ran *ranError
	var unknown *unknownVerbError
	switch {
	case errors.As(err, &ran):
		err = ran.err
	case errors.As(err, &unknown):
		err = failure.Usage("%s", a.allowed(unknown))
	case err != nil && a.broken != nil: // cobra could not write its own output
		err = a.broken
	case err != nil:
		err = failure.Usage("%s", err) // cobra's own errors are about the arguments
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	err = asTyped(called, a.clearer(err))
	a.showMail(ctx)
	if a.client != nil {
		a.client.Close()
	}
	a.showDamage(err)
	var shown *failure.Error
	if a.broken != nil && (err == nil || errors.As(err, &shown) && shown.Shown) { // what was to be shown was not
		err = a.broken
	}
	if err != nil {
		var said *client.Error
		if errors.As(err, &said) && said.Status == http.StatusUnauthorized { // it acts as no session, or not any more
			a.nextFor = nil
		}
		a.complain(err)
		a.exportNobody(called, args)
	}
	return exitCode(err)
}

// execute runs a command line, unless a flag in it lacks its value.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	if called, rest, err := root.Find(args); err == nil {
		if err := eachHasValue(called, rest); err != nil {
			return called, err
		}
	}
	return root.ExecuteContextC(ctx)
}

// showDamage warns readers of a damaged log, unless the error does so already.
func (a *Run) showDamage(err error) {
	if a.damage == "" {
		return
	}
	if err != nil {
		switch explain(err).code {
		case "LOG_DAMAGED", "AUDIT_FAILED", "UNAVAILABLE":
			return
		}
	}
	a.Say("maestro: The server is read-only: %s.\n", a.damage)
}

// errDone ends a command that has already printed its result.
var errDone = errors.New("done")

// ranError marks an error of a command's function, as opposed to cobra's errors about the arguments.
type ranError struct{ err error }

func (e *ranError) Error() string { return e.err.Error() }

func environment(variables []string) map[string]string {
	env := make(map[string]string, len(variables))
	for _, variable := range variables {
		if name, value, ok := strings.Cut(variable, "="); ok {
			env[name] = value
		}
	}
	return env
}

// asksForJSON checks the flags before parsing, so that an error in them is reported in the requested form.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "-ojson", "-o=json", "--output=json", "-ojsonl", "-o=jsonl", "--output=jsonl":
			return true
		case "-o", "--output":
			if i+1 < len(args) && (args[i+1] == "json" || args[i+1] == "jsonl") {
				return true
			}
		}
	}
	return false
}

// Getenv returns a variable of the environment, "" if it is not set.
func (a *Run) Getenv(name string) string { return a.Env[name] }

// Root returns the whole tree of commands.
func (a *Run) Root() *cobra.Command { return a.tree(slices.Concat(nouns(), a.More)) }

// rootFor returns the tree of commands that a command line needs. Declaring the flags of all commands takes longer than
// most commands, so a line that begins with a noun gets only that noun.
func (a *Run) rootFor(args []string) *cobra.Command {
	all := slices.Concat(nouns(), a.More)
	if len(args) > 0 {
		if at := slices.IndexFunc(all, func(n Noun) bool { return n.Name == args[0] }); at >= 0 {
			return a.tree(all[at : at+1])
		}
	}
	return a.tree(all)
}

// Called returns the command of a command line, and the line without that command's names. It parses the line as Main
// does, and runs nothing.
func Called(args []string, more ...Noun) (called *cobra.Command, rest []string, err error) {
	return (&Run{More: more}).rootFor(args).Find(args)
}

// Noun is a command below the root.
type Noun struct {
	Name string
	New  func(*Run) *cobra.Command
}

func nouns() []Noun {
	return []Noun{
		{"project", newProject},
		{"plan", newPlan},
		{"task", newTask},
		{"session", newSession},
		{"report", newReport},
		{"queue", newQueue},
		{"inbox", newInbox},
		{"input", newInput},
		{"watch", newWatch},
		{"since", newSince},
		{"events", newEvents},
		{"why", newWhy},
		{"text", newText},
		{"token", newToken},
		{"webhook", newWebhook},
		{"status", newStatus},
		{"manifest", newManifest},
		{"sandbox", newSandbox},
		{"template", newTemplate},
		{"skill", newSkill},
		{"runner", newRunner},
		{"worker", newWorker},
		{"orchestrator", newOrchestrator},
		{"whoami", newWhoami},
		{"commands", newCommands},
		{"track-file", newTrackFile},
		{"open", newOpen},
		{"login", newLogin},
		{"clock", newClock},
		{"mcp", newMCP},
		{"demo", newDemo},
		{"version", newVersion},
		{"man", newMan},
	}
}

// tree returns the root with the given commands.
func (a *Run) tree(below []Noun) *cobra.Command {
	root := &cobra.Command{
		Use:   "maestro",
		Short: "Coordinate fleets of AI coding agents",
		Long: `Maestro coordinates fleets of AI coding agents: tasks, the sessions that work
on them, and a log of everything that was said and decided.

Start a server with "maestro serve"; the other commands talk to it.

Environment:
  MAESTRO_API_URL        the server's address; else the one in the home, else http://127.0.0.1:3000
  MAESTRO_TOKEN          the token of the session or user that runs the command
  MAESTRO_SESSION_ID     the session that runs the command
  MAESTRO_PROJECT_ID     the project, if the command names none
  MAESTRO_MANIFEST_PATH  the session's manifest; else the copy in the home, else the server's
  MAESTRO_CA             the certificates to trust, in PEM, when the server uses TLS; else the system's
  MAESTRO_HOME           the home; else ~/.maestro
  MAESTRO_LISTEN         where "maestro serve" listens; else what config.json of the home says, else 127.0.0.1:3000

While there is no connection to the server, a session's reports are kept in
the home. They are sent in order with its next command, or when the home's
server is back. A session's mail is printed on stderr with its next command.

Exit codes: 0 done, 1 failed, 2 not found, 3 no connection, 4 not allowed, 5
wrong usage or invalid input, 6 conflict, 7 timed out, 8 done but something is
missing, 130 interrupted with Ctrl-C.`,
		Args:          Takes,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.Stdin)
	root.SetOut(harmlessWriter{a.Stdout, &a.broken})
	root.SetErr(harmlessWriter{a.Stderr, new(error)})
	a.outputFlags(root)
	version := root.Flags().Bool("version", false, "show the version, its commit and its date")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			a.showVersion()
			return nil
		}
		return a.help(cmd)
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := CheckFlags(cmd); err != nil {
			return err
		}
		if err := a.lookBack(cmd); err != nil {
			return err
		}
		if err := a.takeFile(cmd); err != nil {
			return err
		}
		if err := a.prefer(cmd); err != nil {
			return err
		}
		if err := a.setOutput(cmd); err != nil {
			return err
		}
		if err := a.fullIDs(cmd, args); err != nil {
			return &ranError{err}
		}
		return nil
	}
	root.SetFlagErrorFunc(flagError)
	for _, noun := range below {
		root.AddCommand(noun.New(a))
	}
	onceOnly(root)
	need(root)
	alias(root)
	exemplify(root)
	completeIDs(a, root)
	groupCommands(root)
	a.wrapUsage(root)
	root.SetHelpCommandGroupID("server")
	root.SetCompletionCommandGroupID("server")
	return root
}

// help shows the page of a command that does nothing by itself.
func (a *Run) help(cmd *cobra.Command) error {
	if !a.JSON {
		return cmd.Help()
	}
	return &ranError{failure.Usage("`%s` does nothing by itself", cmd.CommandPath()).
		WithNext("name one of its commands; see `%s --help`", cmd.CommandPath())}
}

// group is a noun: its verbs do the work.
func (a *Run) group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  Takes,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.help(cmd) },
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// Running makes a function run as a command.
func Running(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd.Context(), args); err != nil {
			return &ranError{err}
		}
		return nil
	}
}

// Takes checks a command line against the arguments of its Use line.
func Takes(cmd *cobra.Command, args []string) error {
	named := placeholders(cmd.Use)
	if last := len(named) - 1; last >= 0 && named[last].many {
		for len(named) < len(args) {
			named = append(named, named[last])
		}
	}
	for i, p := range named {
		if i >= len(args) && !p.optional {
			return fmt.Errorf("`%s` needs %s; see `%[1]s --help`", cmd.CommandPath(), p.written)
		}
	}
	switch {
	case len(args) > len(named) && cmd.HasSubCommands():
		return unknownVerb(cmd, args[0])
	case len(args) > len(named):
		quotes := ""
		if last := len(named) - 1; last >= 0 && named[last].text {
			quotes = ": put quotes around a text with spaces"
		}
		return fmt.Errorf("unexpected argument %q%s; see `%s --help`", args[len(named)], quotes, cmd.CommandPath())
	}
	for i, arg := range args {
		// An argument that names something is never empty: an unset variable does not mean to omit it.
		if p := named[i]; arg == "" && !p.text {
			next := "give it a value"
			if p.optional {
				next = "leave it out, or give it a value"
			}
			return &ranError{failure.Usage("%s is empty", p.written).WithNext("%s", next)}
		}
	}
	return nil
}

// At returns an argument, or "" if it was omitted.
func At(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
