package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"maestro/workers/processes"
)

// endsWithin is how long a command may take to end when asked to; then it is killed.
const endsWithin = 10 * time.Second

// supervise runs a command to its end, and forwards signals to it. A signal that asks it to end goes to all processes
// below it too, because an agent may run in a pipe of a script; those that do not end are killed. When over says that
// it may not continue, supervise calls ending, ends the command with all its descendants, and returns the error from
// over.
func supervise(cmd *exec.Cmd, over <-chan error, ending func(error)) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	processes.Adopt()
	bindTo(cmd)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the command ends with the thread that started it: see bindTo
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	orphans := make(chan os.Signal, 1)
	if signals := processes.Ended(); len(signals) > 0 { // no signals would mean all
		signal.Notify(orphans, signals...)
	}
	defer signal.Stop(orphans)
	var why, result error
	var kill <-chan time.Time
	stopped, finished := false, false
	for !finished || !noneBelow() {
		select {
		case <-orphans:
			processes.Reap(cmd.Process.Pid)
		case result = <-ended:
			switch {
			case why != nil:
				endAll(os.Kill) // the processes that it left behind
				return why
			case !stopped:
				return result
			}
			finished, kill = true, time.After(endsWithin)
		case s := <-signals:
			stopped = stopped || stops(s)
			switch {
			case deliveredByTerminal(s):
			case stops(s):
				endAll(s)
			default:
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case why = <-over:
			ending(why)
			endAll(terminate)
			kill = time.After(endsWithin)
		case <-kill:
			endAll(os.Kill)
			if finished {
				return result
			}
		}
	}
	if why != nil {
		return why
	}
	return result
}
