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

// child is a process that this one has started.
type child interface {
	Pid() int
	Signal(s os.Signal) error
	Wait() error
	State() *os.ProcessState
}

// unconfined is a child that runs as this process does.
type unconfined struct{ *exec.Cmd }

func (c unconfined) Pid() int                 { return c.Process.Pid }
func (c unconfined) Signal(s os.Signal) error { return c.Process.Signal(s) }
func (c unconfined) State() *os.ProcessState  { return c.ProcessState }

// supervise starts a command, runs it to its end, and forwards signals to it. A signal that asks it to end goes to all
// processes below it too, because an agent may run in a pipe of a script; those that do not end are killed. When over
// is closed, it may not continue: supervise calls ending, and ends the command with all its descendants. The child is
// nil if the command did not start.
func supervise(start func() (child, error), over <-chan struct{}, ending func()) (child, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	processes.Adopt()
	var command child
	var children processes.Children
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the command ends with the thread that started it: see bound
		err := children.Start(func() (pid int, err error) {
			if command, err = start(); err != nil {
				return 0, err
			}
			return command.Pid(), nil
		})
		started <- err
		if err == nil {
			ended <- command.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	orphans := make(chan os.Signal, 1)
	if signals := processes.Ended(); len(signals) > 0 { // no signals would mean all
		signal.Notify(orphans, signals...)
	}
	defer signal.Stop(orphans)
	var result error
	var kill <-chan time.Time
	stopped, finished, isOver := false, false, false
	for !finished || !noneBelow() {
		select {
		case <-orphans:
			children.Reap()
		case result = <-ended:
			switch {
			case isOver:
				endAll(command, os.Kill) // the processes that it left behind
				return command, result
			case !stopped:
				return command, result
			}
			finished, kill = true, time.After(endsWithin)
		case s := <-signals:
			stopped = stopped || stops(s)
			switch {
			case deliveredByTerminal(s):
			case stops(s):
				endAll(command, s)
			default:
				_ = command.Signal(s) // it may have ended
			}
		case <-over:
			over, isOver = nil, true
			ending()
			endAll(command, terminate)
			kill = time.After(endsWithin)
		case <-kill:
			endAll(command, os.Kill)
			if finished {
				return command, result
			}
		}
	}
	return command, result
}
