package cli

import (
	"context"
	"time"

	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/supervisor"
)

const (
	// askServerEvery is the time between two looks at what the server says of a session whose agent was not launched.
	askServerEvery = time.Second
	// serverWithin is how long the server may take to say that: the logs are on this machine.
	serverWithin = 5 * time.Second
)

// asServer returns the session as the server sees it.
func (c *sessionLogs) asServer(ctx context.Context) (x wire.Session, err error) {
	ctx, cancel := context.WithTimeout(ctx, serverWithin)
	defer cancel()
	server, err := c.Connect(ctx)
	if err != nil {
		return x, err
	}
	return server.Session(ctx, c.session)
}

// launched returns what the supervisor of the session saved on this machine. With --follow, it waits for the launch of
// an agent, as long as the session has not ended, and says for what.
func (c *sessionLogs) launched(ctx context.Context) (supervisor.Saved, error) {
	at, told := contact{Run: c.Run}, ""
	for asked := (time.Time{}); ; {
		saved, known, err := c.saved()
		if err != nil {
			return saved, err
		}
		began := known && (saved.Output != "" || saved.Exit != nil)
		waits := c.follow && !began
		if c.of == logSupervisor || c.of == logDecisions { // they begin before the launch
			waits = c.follow && !known
		}
		if time.Since(asked) >= askServerEvery {
			if err := c.ask(ctx, &at, &told, saved, known, waits); err != nil {
				return saved, err
			}
			asked = time.Now()
		}
		if !waits {
			return saved, nil
		}
		select {
		case <-time.After(logLookEvery):
		case <-ctx.Done():
			return saved, Interrupted()
		}
	}
}

// ask asks the server what it knows of the session. It fails if this machine has, and will have, nothing of it: the
// logs that are here are shown also if the server is away.
func (c *sessionLogs) ask(
	ctx context.Context, at *contact, told *string, saved supervisor.Saved, known, waits bool,
) error {
	x, err := c.asServer(ctx)
	switch {
	case ctx.Err() != nil:
		return Interrupted()
	case err != nil && known && !waits:
		what := explain(err).message
		if unreached(err) {
			what = "the server cannot be reached (" + what + ")"
		}
		c.Say("maestro: %s; this is what this machine has of the session\n", safetext.OneLine(what))
		return nil
	case err != nil && comesBack(err) && (known || at.connected):
		at.lost()
		if c.client != nil { // it may come back at another address
			c.client.Close()
			c.client = nil
		}
		return nil
	case err != nil:
		return err
	}
	at.made()
	switch {
	case waits && x.EndedAt != nil && c.hasOutput():
		return nil // it came and ended meanwhile
	case !waits && !known, waits && (x.EndedAt != nil || elsewhereRuns(x) || isByHand(x)):
		return c.neverHere(ctx, x, known)
	case waits:
		if text := c.waitsFor(ctx, x, saved); text != "" && text != *told {
			c.Say("maestro: %s\n", text)
			*told = text
		}
	}
	return nil
}

// hasOutput reports whether an agent of the session was launched on this machine.
func (c *sessionLogs) hasOutput() bool {
	saved, _, err := c.saved()
	return err == nil && saved.Output != ""
}

// elsewhereRuns reports whether the session's last run is on another machine.
func elsewhereRuns(x wire.Session) bool { return x.Run != nil && x.Run.Host != hostname() }

// waitsFor says for what a session waits whose agent was not launched, "" if that is not known, or if it is launched
// right now.
func (c *sessionLogs) waitsFor(ctx context.Context, x wire.Session, saved supervisor.Saved) string {
	if open := launchQuestions(ctx, c.Run, c.session); len(open) > 0 {
		asks, next := LaunchQuestion(open[0])
		return "session " + c.session + " cannot start its agent, and waits for your answer: " + asks +
			"\n  next: " + next
	}
	if awaitsLaunch(x) {
		return "nobody has launched the agent of session " + c.session + ", and no runner does: run " +
			launchLine(x, initOptions{}) + " in another terminal"
	}
	if saved.Place == supervisor.PlaceLine {
		return "session " + c.session + " has its answer, and waits in line for a place"
	}
	return Prefixed("session "+c.session+" waits ", waits(ctx, c.Run, x))
}

// awaitsLaunch reports whether a session waits for a person who launches its agent: no runner does.
func awaitsLaunch(x wire.Session) bool {
	return x.ID != "" && x.EndedAt == nil && x.Runner == "" &&
		(x.Run == nil && x.Status == events.SessionSpawning || x.Run != nil && x.Run.Resumed)
}

// isByHand reports whether something acts as a session although nobody has claimed it.
func isByHand(x wire.Session) bool {
	return x.ID != "" && x.EndedAt == nil && x.Runner == "" && x.Run == nil && x.Status != events.SessionSpawning
}

// notLaunched returns the error for a session whose agent did not start on this machine, or not yet.
func (c *sessionLogs) notLaunched(ctx context.Context) error {
	if x, err := c.asServer(ctx); err == nil {
		return c.neverHere(ctx, x, true)
	}
	return c.neverHere(ctx, wire.Session{}, true)
}

// neverHere returns the error for a session of which this machine has no output; prepared says that it has a supervisor
// here.
func (c *sessionLogs) neverHere(ctx context.Context, x wire.Session, prepared bool) error {
	missing := &failure.Error{
		Code:    failure.NotFound,
		Message: "No agent of session '" + c.session + "' ran on this machine",
		Next: "see `maestro session info " + c.session +
			"`: it says which runner has the session, and on which machine",
	}
	if prepared {
		missing.Message = "The agent of session '" + c.session + "' has printed nothing: it was not launched"
		missing.Next = "see `maestro session info " + c.session + "`, and `maestro session logs " + c.session +
			" --of supervisor`"
	}
	switch {
	case x.EndedAt != nil:
		missing.Why = "the session has ended: " + endText(x)
		missing.Next = "see `maestro why " + c.session + "`"
	case awaitsLaunch(x):
		missing.Why = "nobody has launched it, and no runner does"
		missing.Next = "launch it in a shell without the session's variables: " + launchLine(x, initOptions{})
	case isByHand(x):
		missing.Why = "no runner has the session: somebody runs it with `maestro session exec`, or by hand"
		missing.Next = "look where that was started; `maestro session info " + c.session +
			" --timeline` shows what it reported"
	case x.Run != nil && elsewhereRuns(x) && x.Run.Host != "":
		missing.Why = "its agent runs on " + x.Run.Host
	case x.ID != "":
		if open := launchQuestions(ctx, c.Run, c.session); len(open) > 0 {
			missing.Why, missing.Next = LaunchQuestion(open[0])
			missing.Why = "its run waits for your answer: " + missing.Why
		} else {
			missing.Why = Prefixed("the session waits ", waits(ctx, c.Run, x))
		}
	}
	return missing
}

// endText says how a session ended.
func endText(x wire.Session) string { return statusText(x) + Prefixed(": ", x.EndReason) }

// tellOfEnd says what became of the session that was followed, if its server says so.
func (c *sessionLogs) tellOfEnd(ctx context.Context) {
	x, err := c.asServer(ctx)
	switch {
	case err != nil:
	case x.EndedAt != nil:
		c.Say("maestro: session %s has ended: %s\n", c.session, safetext.OneLine(endText(x)))
	case x.Run != nil && x.Run.Waits:
		c.Say("maestro: the run is over, and session %s waits for the answer to its question: see `maestro inbox "+
			"--session %s`\n", c.session, c.session)
	}
}
