package agent

import "time"

// The time limits of a hook. Each is longer than the one within it, so that the innermost one, which knows the reason,
// says why a call is denied. The others deny when that one does not come to it.
const (
	// decidesWithin is how long a decision takes at most that the supervisor makes alone.
	decidesWithin = 6 * time.Second
	// AnswersWithin is how long the supervisor waits for a person's decision.
	AnswersWithin = 10 * time.Minute
	// askMargin is how much longer than a person the hook waits.
	askMargin = 20 * time.Second
	// lineMargin is how much longer than the hook's own clock the shell line waits that runs it.
	lineMargin = 9 * time.Second
	// LineWithin is how long that line takes at most if nobody is asked.
	LineWithin = decidesWithin + lineMargin
	// cliMargin is what the CLI's own limit adds. When it passes, a CLI lets the call run, so the line ends long
	// before, even on a slow machine.
	cliMargin = time.Minute
)

// HookClock is the clock of the hook itself: how long it waits for the supervisor's decision. asks says that a person
// may decide.
func HookClock(asks bool) time.Duration {
	if asks {
		return AnswersWithin + askMargin
	}
	return decidesWithin
}

// HookLine is how long the shell line takes at most that runs the hook: then the call is denied, whatever the hook
// does.
func HookLine(asks bool) time.Duration { return HookClock(asks) + lineMargin }

// hookSeconds returns how long the shell line takes at most, and the limit of the CLI.
func (l *Launch) hookSeconds() (seconds, limit int) {
	line := HookLine(l.interactive())
	if l.HookSeconds > 0 {
		line = time.Duration(l.HookSeconds) * time.Second
	}
	return int(line.Seconds()), int((line + cliMargin).Seconds())
}
