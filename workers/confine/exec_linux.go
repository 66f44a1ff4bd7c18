package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec is the program `maestro agent-exec`, which [Start] runs. It applies the layers, runs the command, and returns
// the exit code of this process. The error says why the command was not started. The process must end right afterwards:
// with Namespaces, that kills what the command left behind.
func Exec() (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(signals)
	// The command gets no file but its standard streams, whatever this process inherited.
	if err := unix.CloseRange(requestFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return codeRefused, fmt.Errorf("close inherited files: %w", err)
	}
	lifeline, answers, err := pipes()
	if err != nil {
		return codeRefused, err
	}
	defer lifeline.Close()
	var r request
	if err := json.NewDecoder(lifeline).Decode(&r); err != nil {
		return codeRefused, fmt.Errorf("agent-exec cannot read what to run: %w", err)
	}
	pid, err := run(r)
	a := answer{}
	if err != nil {
		a = answer{Error: err.Error(), Code: codeRefused}
		if refused, ok := errors.AsType[*Refused](err); ok {
			a.Code = refused.Code
		}
	}
	told := errors.Join(json.NewEncoder(answers).Encode(a), answers.Close())
	if err != nil || r.Try {
		return a.Code, errors.Join(err, told)
	}
	// If nobody reads the answer, whoever started this process is gone: then attend ends the command.
	return attend(pid, r, lifeline, signals), nil
}

// pipes returns the two pipes between Start and this process.
func pipes() (lifeline, answers *os.File, err error) {
	for _, fd := range []int{requestFD, answerFD} {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
			return nil, nil, errors.New("agent-exec needs a policy, which maestro gives it: run `maestro session exec`")
		}
	}
	if err := unix.SetNonblock(requestFD, true); err != nil { // so that a read ends when the file is closed
		return nil, nil, err
	}
	return os.NewFile(requestFD, "request"), os.NewFile(answerFD, "answer"), nil
}

// run applies the layers and starts the command.
func run(r request) (pid int, err error) {
	namespaces := slices.Contains(r.Layers, Namespaces)
	if !namespaces {
		// orphans of the command become children of this process, which kills them at the end
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return 0, fmt.Errorf("become the parent of orphans: %w", err)
		}
	}
	places, err := r.Policy.places(namespaces, r.Self, r.Listening)
	if err != nil {
		return 0, err
	}
	if namespaces {
		if err := mountAll(places); err != nil {
			return 0, fmt.Errorf("the layer %s: %w", Namespaces, err)
		}
	}
	if slices.Contains(r.Layers, NetworkNone) {
		if err := raiseLoopback(); err != nil {
			return 0, fmt.Errorf("the layer %s: %w", NetworkNone, err)
		}
	}
	rules, err := newRules(r, places, namespaces)
	if err != nil {
		return 0, err
	}
	defer rules.close()
	if !r.Try {
		if err := unix.Chdir(r.Dir); err != nil {
			return 0, fmt.Errorf("the command's directory %s: %w: if it is in a hidden place, let the policy name it",
				r.Dir, err)
		}
	}
	// Threads of this process stay outside the layers. Without this, the command could attach to them.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("protect agent-exec: %w", err)
	}
	onThread(func() {
		if err = restrict(r.Layers, rules); err == nil && !r.Try {
			pid, err = fork(r, namespaces)
		}
	})
	return pid, err
}

// onThread calls f on a thread of its own, which ends afterwards: the layers are those of a thread and of the processes
// that it starts. It is not the first thread, because that one stands for the whole process, and never ends.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		if unix.Gettid() == unix.Getpid() {
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// restrict applies to this thread what processes inherit from the thread that starts them. Each step needs what a later
// one removes.
func restrict(layers []Layer, rules *rules) error {
	if slices.Contains(layers, NoNewPrivileges) {
		if err := dropCapabilities(); err != nil {
			return fmt.Errorf("the layer %s: %w", NoNewPrivileges, err)
		}
	}
	if err := rules.apply(); err != nil {
		return fmt.Errorf("the layer %s: %w", landlock(landlockVersion(layers)), err)
	}
	if slices.Contains(layers, Seccomp) {
		if err := applyFilter(layers); err != nil {
			return fmt.Errorf("the layer %s: %w", Seccomp, err)
		}
	}
	return nil
}

// fork starts the command from this thread.
func fork(r request, namespaces bool) (pid int, err error) {
	pid, err = syscall.ForkExec(r.Path, r.Args, &syscall.ProcAttr{
		Env:   environment(r, namespaces),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		code := codeRefused
		if errors.Is(err, os.ErrNotExist) {
			code = codeMissing
		}
		return 0, &Refused{Reason: fmt.Sprintf("run %s: %v", r.Path, err), Code: code}
	}
	return pid, nil
}

// environment returns the command's environment, with its own directory for temporary files.
func environment(r request, namespaces bool) []string {
	temp := r.Policy.Temp
	if temp == "" {
		return r.Env
	}
	if namespaces {
		temp = "/tmp" // where the directory is mounted: paths of sockets must be short
	}
	env := slices.DeleteFunc(slices.Clone(r.Env), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	return append(env, "TMPDIR="+temp)
}

// attend forwards signals to the command and waits for its end. It kills what is left when the command ends or when the
// process that started this one is gone.
func attend(pid int, r request, lifeline io.Reader, signals <-chan os.Signal) int {
	gone := make(chan struct{})
	go func() { // ends when the pipe ends, or when the caller closes it
		defer close(gone)
		_, _ = io.Copy(io.Discard, lifeline)
	}()
	ended := make(chan int)
	go func() { ended <- wait(pid) }()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = unix.Kill(pid, s.(syscall.Signal)) // it may have ended
			}
		case code := <-ended:
			killRest(r)
			return code
		case <-gone:
			_ = unix.Kill(pid, unix.SIGKILL)
			code := <-ended
			killRest(r)
			return code
		}
	}
}

// wait returns the exit code of the command. Until then it also removes adopted processes that have ended.
func wait(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return codeRefused // the command is not a child: this cannot be
		case ended == pid:
			if code := status.ExitStatus(); code >= 0 {
				return code
			}
			return 128 + int(status.Signal()) // as a shell shows it
		}
	}
}

// fromTerminal reports whether a terminal has sent a signal to all processes of the group, the command included.
func fromTerminal(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT {
		return false
	}
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// killRest kills what the command left behind. With Namespaces, the kernel does that when this process ends.
func killRest(r request) {
	if slices.Contains(r.Layers, Namespaces) {
		return
	}
	for {
		pids := children()
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
		options := 0
		if len(pids) == 0 {
			options = unix.WNOHANG // the list may miss a process that is just being adopted
		}
		if _, err := syscall.Wait4(-1, nil, options, nil); errors.Is(err, unix.ECHILD) {
			return
		}
	}
}

// children returns the children of this process. They are listed by the thread that started or adopted them.
func children() (pids []int) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		text, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
