package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of its orphaned descendants: they stay below the session, and are found when it
// ends.
func adopt() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // an older kernel gives them to init
}

// childEnded are the signals that say that a child has ended.
func childEnded() []os.Signal { return []os.Signal{syscall.SIGCHLD} }

// reap removes adopted processes that have ended from the process table. The command itself is waited for elsewhere.
func reap(command int) {
	for _, pid := range childrenOf()[os.Getpid()] {
		if pid != command {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may still run
		}
	}
}

// bindTo makes the kernel end the command when this process is killed: without heartbeats its session would be lost,
// and its work given to another one while the command continues.
func bindTo(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// endAll sends a signal to all processes below this one.
func endAll(s os.Signal) {
	for _, pid := range below(os.Getpid()) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Signal(s) // it may have ended
		}
	}
}

// noneBelow reports whether no process is below this one.
func noneBelow() bool { return len(below(os.Getpid())) == 0 }

// below returns the processes below one.
func below(top int) (pids []int) {
	children := childrenOf()
	seen := map[int]bool{top: true}
	for next := []int{top}; len(next) > 0; next = next[1:] {
		for _, pid := range children[next[0]] {
			if !seen[pid] {
				seen[pid] = true
				pids, next = append(pids, pid), append(next, pid)
			}
		}
	}
	return pids
}

// childrenOf returns the children of every process.
func childrenOf() map[int][]int {
	children := map[int][]int{}
	names, _ := filepath.Glob(filepath.Join(proc, "[0-9]*")) // the pattern is valid
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			if x, err := processes(os.ReadFile).process(pid); err == nil {
				children[x.parent] = append(children[x.parent], pid)
			}
		}
	}
	return children
}
