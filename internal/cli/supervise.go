package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"
)

// endsWithin is how long a command may take to end when asked to; then it is killed.
const endsWithin = 10 * time.Second

// supervise runs a command to its end, and forwards signals to it. When over says that it may not continue, supervise
// calls ending, ends the command with all its descendants, and returns the error from over.
func supervise(cmd *exec.Cmd, over <-chan error, ending func(error)) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	adopt()
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
	if signals := childEnded(); len(signals) > 0 { // no signals would mean all
		signal.Notify(orphans, signals...)
	}
	defer signal.Stop(orphans)
	var why error
	var kill <-chan time.Time
	for {
		select {
		case <-orphans:
			reap(cmd.Process.Pid)
		case err := <-ended:
			if why != nil {
				endAll(os.Kill) // the processes that it left behind
				return why
			}
			return err
		case s := <-signals:
			if !deliveredByTerminal(s) {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case why = <-over:
			ending(why)
			endAll(terminate)
			kill = time.After(endsWithin)
		case <-kill:
			endAll(os.Kill)
		}
	}
}
