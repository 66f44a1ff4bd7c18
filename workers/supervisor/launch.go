package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/blank"
	"maestro/workers/confine"
	"maestro/workers/processes"
)

// The waits while an agent is ended: after each, the next stronger means follows.
const (
	interruptWait = 5 * time.Second
	terminateWait = 5 * time.Second
	killWait      = 5 * time.Second
)

// outcome is how one launch of the agent's program ended.
type outcome struct {
	code   *int
	signal string
	// end is what the program itself said about its end, nil if nothing.
	end          *agent.Ended
	said         string
	conversation string
	// explained is what the exit code means.
	explained string
}

// ok reports whether the program says that it did what it was asked. That its work is done is for the session to say.
func (o outcome) ok() bool {
	return o.code != nil && *o.code == 0 && (o.end == nil || o.end.OK)
}

// reason says in words how the launch ended.
func (o outcome) reason() string {
	switch {
	case o.ok():
		return ""
	case o.end != nil && o.end.Reason != "":
		return o.end.Reason
	case o.explained != "":
		return o.explained
	case o.signal != "" || o.code != nil:
		return "" // they say it all
	}
	return "it did not start"
}

// launched is a running launch.
type launched struct {
	process *confine.Process
	stream  *stream
	// interrupts says that SIGINT makes the program end its tools too.
	interrupts bool
	ended      chan struct{}
	result     outcome
	err        error
}

// launch starts the agent's program. It does not wait for it.
func (s *supervisor) launch(ctx context.Context, start *agent.Start, policy confine.Policy) (*launched, error) {
	if err := s.targetStays(); err != nil {
		return nil, err
	}
	secrets := blank.Of(append([]string{s.SessionToken, s.RunnerToken}, start.Secrets...)...)
	s.secrets.Store(secrets)
	root, err := disk.OpenRoot(s.dirs.Workspace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	names := outputsOf(start)
	output, err := appendTo(root, names[0])
	if err != nil {
		return nil, err
	}
	problems, err := appendTo(root, names[1])
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	if err := s.save(func(is *Saved) {
		is.Agent = s.driver.Name()
		is.Output = filepath.Join(s.dirs.Workspace, names[0])
		is.Errors = filepath.Join(s.dirs.Workspace, names[1])
		if s.target != nil {
			is.Git, is.GitIs, is.Repositories = s.target.Name(), s.targetIs, s.git.repositories
		}
	}); err != nil {
		return nil, errors.Join(err, output.Close(), problems.Close())
	}
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, output.Close(), problems.Close())
	}
	blanked, blankedProblems := secrets.Writer(output), secrets.Writer(problems)
	cmd := &exec.Cmd{
		Path:        start.Path,
		Args:        append([]string{start.Path}, start.Args...),
		Env:         start.Env,
		Dir:         start.Dir,
		Stdin:       newReader(start.Stdin),
		Stdout:      writing,
		Stderr:      blankedProblems,
		WaitDelay:   killWait,
		SysProcAttr: ownGroup(),
	}
	l := &launched{
		stream: &stream{
			reader: s.driver.Reader(s.used),
			file:   blanked,
			see:    s.observed,
		},
		interrupts: start.Interrupt,
		ended:      make(chan struct{}),
	}
	l.process, err = s.start(ctx, policy, cmd)
	if err := errors.Join(err, writing.Close()); err != nil {
		return nil, errors.Join(err, reading.Close(), output.Close(), problems.Close())
	}
	copied := make(chan error, 1)
	go func() { copied <- l.stream.copy(reading) }()
	go func() {
		defer close(l.ended)
		err := l.process.Wait()
		s.children.Ended(l.process.Pid())
		// What the program left behind may keep the pipe open.
		s.endBelow()
		var late error
		select {
		case late = <-copied:
		case <-s.calls.after(killWait):
			_ = reading.SetReadDeadline(time.Unix(0, 1)) // ends the copying
			late = <-copied
		}
		l.result = s.outcomeOf(l, l.process.State())
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		l.err = errors.Join(err, late, blanked.Close(), blankedProblems.Close(), reading.Close(), output.Close(),
			problems.Close())
	}()
	return l, nil
}

// start starts a program behind the boundary. Whoever has waited for it says so to s.children.
func (s *supervisor) start(ctx context.Context, policy confine.Policy, cmd *exec.Cmd) (*confine.Process, error) {
	var process *confine.Process
	err := s.children.Start(func() (pid int, err error) {
		process, err = confine.Start(ctx, []string{s.Program, wire.ProgramConfined, s.SessionID}, policy, s.layers, cmd)
		if err != nil {
			return 0, err
		}
		return process.Pid(), nil
	})
	return process, err
}

// outcomeOf describes how the program ended.
func (s *supervisor) outcomeOf(l *launched, state *os.ProcessState) outcome {
	l.stream.mu.Lock()
	o := outcome{end: l.stream.end, conversation: l.stream.conversation}
	l.stream.mu.Unlock()
	o.said = s.blank(l.stream.last())
	if o.end != nil {
		o.end.Reason = s.blank(o.end.Reason) // the model's API may have said what it was given
	}
	if state == nil {
		return o
	}
	code := state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() { //nolint:misspell // its name
		code = 128 + int(status.Signal())
	}
	if number := code - 128; number > 0 && number < 65 && s.driver.Explain(code) == "" {
		o.signal = signalName(number)
		return o
	}
	o.code, o.explained = &code, s.driver.Explain(code)
	return o
}

// end ends a launch with everything below it: an interrupt where the program then ends its tools itself, then a
// request, then force.
func (s *supervisor) end(l *launched) {
	if l.interrupts {
		_ = l.process.Signal(os.Interrupt) // it may have ended
		if s.endsWithin(l, interruptWait) {
			return
		}
	}
	below := processes.Below(os.Getpid())
	_ = l.process.Signal(syscall.SIGTERM)
	processes.Signal(below, syscall.SIGTERM)
	if s.endsWithin(l, terminateWait) {
		return
	}
	processes.Kill(processes.Below(os.Getpid()))
	l.process.Kill()
	<-l.ended
}

func (s *supervisor) endsWithin(l *launched, wait time.Duration) bool {
	select {
	case <-l.ended:
		return true
	case <-s.calls.after(wait):
		return false
	}
}

// endBelow kills what is below this process, until nothing is.
func (s *supervisor) endBelow() {
	for range 100 {
		below := processes.Below(os.Getpid())
		if len(below) == 0 {
			return
		}
		processes.Kill(below)
		s.children.Reap()
		<-s.calls.after(10 * time.Millisecond)
	}
	s.logger.Warn("processes of the agent could not be ended", "pids", processes.Below(os.Getpid()))
}

// errorsSuffix ends the name of the file with what an agent prints on its standard error.
const errorsSuffix = ".stderr.log"

// outputsOf returns the names of the files with what an agent prints on its standard output and its standard error.
func outputsOf(start *agent.Start) [2]string {
	return [2]string{start.Output, strings.TrimSuffix(start.Output, filepath.Ext(start.Output)) + errorsSuffix}
}

// appendTo opens a file of the workspace to append to it. The agent can write there, so an earlier run may have left
// something else with that name, such as a link or a pipe: that is removed.
func appendTo(root *disk.Root, name string) (*os.File, error) {
	const flag = os.O_WRONLY | os.O_APPEND
	f, err := files.OpenOrCreate(root, name, flag)
	var irregular *files.IrregularError
	if errors.As(err, &irregular) {
		if err = root.RemoveAll(name); err == nil {
			f, err = files.OpenOrCreate(root, name, flag)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the file for the agent's output: %w", err)
	}
	return f, nil
}

// newReader returns a reader of a program's whole input, nil if it has none.
func newReader(content []byte) io.Reader {
	if len(content) == 0 {
		return nil
	}
	return bytes.NewReader(content)
}
