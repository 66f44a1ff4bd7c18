package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// request is what agent-exec reads from the first of its two pipes. The pipe then stays open, and its end tells
// agent-exec that whoever started it is gone.
type request struct {
	Policy    Policy
	Layers    []Layer
	Self      string
	Listening []string
	Path      string
	Args      []string
	Env       []string
	Dir       string
	// Try says that there is no command: the layers are applied, and that is all.
	Try bool
}

// answer is what agent-exec writes to the second pipe, once the command has started or could not be started.
type answer struct {
	Error string
	Code  int
}

const (
	// requestFD and answerFD are the descriptors of agent-exec's two pipes.
	requestFD, answerFD = 3, 4
	// codeRefused and codeMissing are the exit codes that shells use for commands that cannot be started.
	codeRefused, codeMissing = 126, 127
)

// Process is a confined command that has started.
type Process struct {
	// Layers are those that are applied.
	Layers []Layer

	cmd      *exec.Cmd
	lifeline io.Closer
}

// Start runs cmd behind the layers, and returns when it has started: cmd's program runs then, and all layers are
// applied. self is the command line of agent-exec, such as the path of maestro and "agent-exec".
//
// Start uses the path, arguments, environment, directory, standard streams, SysProcAttr and WaitDelay of cmd, and does
// not start cmd itself. The command gets no other files than its standard streams. TMPDIR names its directory for
// temporary files. When the command ends, what it started is killed, and so is all of it when this process ends. When
// agent-exec is killed, the command is killed too with Namespaces, and otherwise has a new parent: this process, if it
// is a subreaper.
//
// When ctx ends before the command has started, Start kills it and returns the context's error. Afterwards ctx has no
// effect.
func Start(ctx context.Context, self []string, p Policy, layers []Layer, cmd *exec.Cmd) (*Process, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if len(cmd.ExtraFiles) > 0 {
		return nil, errors.New("a confined command gets no files besides its standard streams")
	}
	if err := p.check(layers); err != nil {
		return nil, err
	}
	r := request{
		Policy: p,
		Layers: layers,
		Path:   cmd.Path,
		Args:   cmd.Args,
		Env:    cmd.Environ(),
		Dir:    cmd.Dir,
	}
	if r.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("the directory of the command: %w", err)
		}
		r.Dir = dir
	}
	return start(ctx, self, r, cmd)
}

// start runs agent-exec with a request, and waits for its answer.
func start(ctx context.Context, self []string, r request, cmd *exec.Cmd) (*Process, error) {
	if len(r.Layers) > 0 && !supported {
		return nil, errors.New("this system has no layer that confines a command: confine commands on Linux")
	}
	if !supported {
		return startOpen(cmd)
	}
	r.Self, r.Listening = self[0], listeningSockets(slices.Contains(r.Layers, Namespaces))
	requestRead, requestWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer requestRead.Close()
	answerRead, answerWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, requestWrite.Close())
	}
	defer answerRead.Close()
	agent := &exec.Cmd{
		Path:       self[0],
		Args:       self,
		Env:        []string{},
		Dir:        "/",
		Stdin:      cmd.Stdin,
		Stdout:     cmd.Stdout,
		Stderr:     cmd.Stderr,
		ExtraFiles: []*os.File{requestRead, answerWrite},
		WaitDelay:  cmd.WaitDelay,
	}
	agent.SysProcAttr, err = attributes(cmd.SysProcAttr, r.Layers)
	if err == nil {
		err = agent.Start()
	}
	if err := errors.Join(err, answerWrite.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("agent-exec does not start: %w", err), requestWrite.Close())
	}
	process := &Process{
		Layers:   r.Layers,
		cmd:      agent,
		lifeline: requestWrite,
	}
	if err := shake(ctx, requestWrite, answerRead, r); err != nil {
		process.Kill()
		_ = process.Wait() // err says why
		return nil, err
	}
	return process, nil
}

// shake sends the request, and waits for the answer.
func shake(ctx context.Context, to, from *os.File, r request) error {
	stop := context.AfterFunc(ctx, func() {
		past := time.Unix(0, 1)
		_, _ = to.SetDeadline(past), from.SetDeadline(past) // pipes have deadlines
	})
	defer stop()
	err := json.NewEncoder(to).Encode(r)
	var a answer
	if decodeErr := json.NewDecoder(from).Decode(&a); decodeErr != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("agent-exec ended before it had started the command: %w", errors.Join(err, decodeErr))
	}
	if a.Error != "" {
		return &Refused{Reason: a.Error, Code: a.Code}
	}
	return nil
}

// Refused is the error of agent-exec: a layer could not be applied, or the command cannot be run.
type Refused struct {
	// Reason says what happened, and what to do.
	Reason string
	// Code is the exit code of agent-exec: 127 if there is no such command, 126 otherwise.
	Code int
}

func (r *Refused) Error() string { return r.Reason }

// Pid returns the process id of agent-exec, the parent of the command. It forwards the signals HUP, INT, QUIT, TERM,
// USR1 and USR2 to the command. INT and QUIT are not forwarded if its standard input is a terminal: the terminal, or
// whoever signals, reaches the whole process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to agent-exec, which forwards it.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the command at once. With Namespaces, everything that it started ends with it.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // it may have ended

// Wait returns when the command has ended, and its standard streams are copied. The error is nil if its exit code is
// 0, and an *exec.ExitError otherwise. A command that ended by signal n has the exit code 128+n.
func (p *Process) Wait() error {
	err := p.cmd.Wait()
	return errors.Join(err, p.lifeline.Close())
}

// State returns how the command ended, after Wait.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// startOpen starts a command without agent-exec.
func startOpen(cmd *exec.Cmd) (*Process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, lifeline: io.NopCloser(nil)}, nil
}
