package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/workers/agent"
	"maestro/workers/supervisor"
)

// The logs of a run.
const (
	logOutput     = "output"
	logErrors     = "errors"
	logSupervisor = "supervisor"
	logDecisions  = "decisions"
)

// logLookEvery is the time between two looks at a file that is followed.
const logLookEvery = 200 * time.Millisecond

// maxLogLine bounds a line that is shown in words.
const maxLogLine = 8 << 20

// sessionLogs is `maestro session logs`.
type sessionLogs struct {
	*Run
	follow, raw bool
	of          string

	session string
	home    *home.Home
	// records are those of a single JSON document.
	records []any
}

func newSessionLogs(a *Run) *cobra.Command {
	c := &sessionLogs{Run: a}
	cmd := &cobra.Command{
		Use:   "logs <sessionId>",
		Short: "Show what a session's agent said and did, on the machine where it runs",
		Args:  Takes,
		Long: `Show what the agent of a session said and did: its words, and its tool calls.
With --raw, show what its program printed, as it is.

The other logs are --of errors, what the program wrote about itself; decisions,
one JSON object for each decision about a tool call; and supervisor, the log of
the process that runs the agent.

The logs are on the machine where the agent runs: the one with the home of its
runner. They are shown also if the server is away. With --follow, the command
waits until the agent starts, says for what, and goes on until the run ends.

With -o jsonl, each line is an object: its kind is said, called, returned,
retrying or ended, or line for a line that is shown as it is; a decision is the
object of its log. With --json, one document has them all.`,
		RunE: Running(c.run),
	}
	f := cmd.Flags()
	f.BoolVarP(&c.follow, "follow", "f", false, "go on with what comes, until the run ends")
	f.BoolVar(&c.raw, "raw", false, "show the output as the agent's program printed it")
	f.StringVar(&c.of, "of", logOutput, "which log: output, errors, decisions or supervisor")
	Complete(cmd, "of", logOutput, logErrors, logDecisions, logSupervisor)
	annotated(cmd, onlyFor, onlyUsers)
	return Untold(cmd)
}

func (c *sessionLogs) run(ctx context.Context, args []string) error {
	if err := commands.ValidID("/sessionId", args[0]); err != nil {
		return failure.Usage("%s is not the id of a session", safetext.Quoted(args[0])).
			WithNext("see `maestro session list`")
	}
	if c.follow && c.oneDocument() {
		return severalDocuments("--follow")
	}
	h, err := c.existingHome()
	if err != nil {
		return c.withoutHome(args[0], err)
	}
	defer func() { _ = h.Close() }()
	c.session, c.home, c.records = args[0], h, []any{}
	saved, err := c.launched(ctx)
	if err != nil {
		return err
	}
	file, words := saved.Output, true
	switch c.of {
	case logOutput:
	case logErrors:
		file, words = saved.Errors, false
	case logDecisions:
		file, words = h.DecisionsPath(c.session), false
	case logSupervisor:
		file, words = h.SupervisorLogPath(c.session), false
	default:
		return failure.Usage("--of is output, errors, decisions or supervisor, not %s", safetext.Quoted(c.of))
	}
	if file == "" {
		return c.notLaunched(ctx)
	}
	show := c.copy
	if words && !c.raw {
		reader, err := readerOf(h.Dir(), saved.Agent)
		if err != nil {
			return err
		}
		show = func(line []byte) { c.tell(reader, line) }
	}
	shown := false
	err = c.read(ctx, file, func(line []byte) {
		shown = true
		show(line)
	}, func() bool { return !h.Supervised(c.session) })
	if err != nil {
		return err
	}
	if c.JSON && c.format != "jsonl" {
		c.Result(c.records, nil)
	}
	if c.of == logOutput {
		c.tellOfErrors(ctx, shown)
	}
	if c.follow {
		c.tellOfEnd(ctx)
	}
	return nil
}

// withoutHome returns the error for logs that cannot be read because this process has no home.
func (c *sessionLogs) withoutHome(session string, err error) error {
	var problem *home.Problem
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case c.isSession() && (missing || errors.As(err, &problem) && problem.Hidden):
		return &failure.Error{
			Err:     err,
			Code:    failure.NotAllowed,
			Message: "An agent cannot read the logs of agents",
			Why:     "they are in the user's home, which is hidden from agents",
			Next: "see what the session reported with `maestro session info " + session + " --timeline`, or ask the " +
				"user to look",
		}
	case missing:
		return &failure.Error{
			Err:     err,
			Code:    failure.NotFound,
			Message: "There are no logs of agents on this machine",
			Why:     err.Error(),
			Next: "run the command on the machine where the agent runs, which `maestro session info " + session +
				"` names, with the MAESTRO_HOME of its runner",
		}
	}
	return err
}

// tellOfErrors says where to look if the agent failed, or printed nothing: a program says on its standard error why it
// cannot work.
func (c *sessionLogs) tellOfErrors(ctx context.Context, shown bool) {
	saved, known, err := c.saved()
	if err != nil || !known || saved.Exit == nil {
		return
	}
	unexplained := saved.Exit.Code != nil && *saved.Exit.Code > 0 && saved.Exit.Reason == ""
	if shown && !unexplained {
		return // nothing failed, or it is known what did: somebody killed it, or its output says it
	}
	// An agent may end by itself when its session is killed, before its supervisor ends it.
	if x, err := c.asServer(ctx); err == nil && x.Status == events.SessionStopped {
		return
	}
	if info, err := os.Lstat(saved.Errors); err == nil && info.Size() > 0 {
		c.Say("maestro: the agent also wrote to its standard error: see `maestro session logs %s --of errors`\n",
			c.session)
	}
}

// saved returns what the supervisor of the session saved on this machine, if it did.
func (c *sessionLogs) saved() (saved supervisor.Saved, known bool, err error) {
	content, err := c.home.ReadRun(c.session)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &saved)
	}
	return saved, err == nil, err
}

// readerOf returns the reader of an agent's output. An agent that is not configured any more printed text.
func readerOf(dir, name string) (agent.Reader, error) {
	configured, err := supervisor.LoadAgents(dir)
	if err != nil {
		return nil, err
	}
	driver, err := configured.Driver(name)
	if err != nil {
		return nil, &failure.Error{
			Err:     err,
			Code:    failure.NotFound,
			Message: "The output of agent " + name + " cannot be read: " + err.Error(),
			Next:    "show it as it is with --raw",
		}
	}
	return driver.Reader(agent.Used{}), nil
}

// read shows the lines of a file, and with --follow those that come until over.
func (c *sessionLogs) read(ctx context.Context, name string, show func(line []byte), over func() bool) error {
	f, err := files.OpenNamed(name)
	if err != nil {
		return Unreadable(name, err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	var line []byte
	for last := false; ; {
		part, err := lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLogLine {
			line = line[:maxLogLine]
		}
		switch {
		case err == nil:
			show(line)
			line = line[:0]
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case !errors.Is(err, io.EOF):
			return Unreadable(name, err)
		case !c.follow || last:
			if len(line) > 0 {
				show(line)
			}
			return nil
		}
		last = over() // what was written before is read once more
		select {
		case <-time.After(logLookEvery):
		case <-ctx.Done():
			return Interrupted()
		}
	}
}

// copy shows a line as it is, without what would control a terminal.
func (c *sessionLogs) copy(line []byte) {
	if c.JSON {
		c.record(lineRecord(line, c.of == logDecisions))
		return
	}
	if c.terminal() {
		c.Print("%s\n", safetext.Harmless(strings.TrimRight(string(line), "\n")))
		return
	}
	c.Printer.raw(line)
}

// tell shows in words what a line of the output says.
func (c *sessionLogs) tell(reader agent.Reader, line []byte) {
	for _, o := range reader.Read(bytes.TrimRight(line, "\r\n")) {
		if record, ok := recordOf(o); c.JSON {
			if ok {
				c.record(record)
			}
			continue
		}
		if text := observationText(o); text != "" {
			c.Print("%s\n", text)
		}
	}
}

// withoutBlankEnds returns a text without the blank lines around it. Its lines stay as they are: their indentation can
// be that of code or of a list.
func withoutBlankEnds(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	blank := text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))]
	return text[strings.LastIndexByte(blank, '\n')+1:]
}

// observationText says in words what an agent did, "" for what need not be shown.
func observationText(o agent.Observation) string {
	switch o := o.(type) {
	case agent.Said:
		return withoutBlankEnds(o.Text)
	case agent.Called:
		what := o.Command
		if what == "" {
			what = o.Summary
		}
		return "> " + o.Tool + Prefixed(": ", safetext.OneLine(what))
	case agent.Returned:
		if o.Failed {
			return "  failed" + Prefixed(": ", safetext.OneLine(o.Text))
		}
	case agent.Retrying:
		return fmt.Sprintf("  the model's API fails (%s); attempt %d follows", safetext.OneLine(o.Reason), o.Attempt)
	case agent.Ended:
		if !o.OK {
			return "ended: " + safetext.OneLine(o.Reason)
		}
	case agent.Began, agent.Used:
	}
	return ""
}
