package processes

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Proc is where the kernel lists processes.
const Proc = "/proc"

// exiting is the kernel's flag PF_EXITING.
const exiting = 0x4

// Process is what the kernel says about a process.
type Process struct {
	Parent int
	// Exiting says that it is ending: its children are about to get another parent.
	Exiting bool
	// Started is when it started, in clock ticks since the machine did. With its id, it names one process for good.
	Started uint64
}

// Read returns what the kernel says about a process. read reads a file below [Proc]; it is os.ReadFile except in tests.
func Read(read func(name string) ([]byte, error), pid int) (Process, error) {
	stat, err := read(filepath.Join(Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return Process{}, err
	}
	// the name may contain any characters
	_, rest, _ := strings.Cut(string(stat[max(bytes.LastIndexByte(stat, ')'), 0):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 7 {
		return Process{}, io.ErrUnexpectedEOF
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Process{}, err
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return Process{}, err
	}
	p := Process{Parent: parent, Exiting: flags&exiting != 0}
	if len(fields) > 19 {
		p.Started, err = strconv.ParseUint(fields[19], 10, 64)
	}
	return p, err
}

// Adopt makes this process the parent of its orphaned descendants.
func Adopt() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // an older kernel gives them to init
}

// Ended are the signals that say that a child has ended; none where [Children.Reap] has nothing to do.
func Ended() []os.Signal { return []os.Signal{syscall.SIGCHLD} }

// reap removes children that have ended from the process table, except some.
func reap(except map[int]bool) {
	for _, pid := range children()[os.Getpid()] {
		if !except[pid] {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may still run
		}
	}
}

// Below returns the processes below one, the nearest first.
func Below(top int) (pids []int) {
	children := children()
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

// deepest bounds the walk up the process tree.
const deepest = 1000

// IsBelow reports whether a process is a descendant of another one. One that ends meanwhile is not.
func IsBelow(pid, top int) bool {
	for range deepest {
		p, err := Read(os.ReadFile, pid)
		switch {
		case err != nil || p.Parent <= 0:
			return false
		case p.Parent == top:
			return true
		}
		pid = p.Parent
	}
	return false
}

// Signal sends a signal to processes.
func Signal(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

// Kill kills processes.
func Kill(pids []int) { Signal(pids, syscall.SIGKILL) }

// Continue continues a process that was stopped.
func Continue(pid int) { Signal([]int{pid}, syscall.SIGCONT) }

// mostRounds bounds how often KillTree looks: something may start processes faster than it finds them.
const mostRounds = 100

// KillTree kills a process that has called [Adopt], with everything below it. The process is stopped first, so that it
// starts nothing more, and what loses its parent stays below it. A killed process starts no other, so it is over once
// only killed ones are found. KillTree does not wait until they have ended.
func KillTree(top int) {
	Signal([]int{top}, syscall.SIGSTOP)
	killed := map[int]bool{}
	for range mostRounds {
		var found []int
		for _, pid := range Below(top) {
			if !killed[pid] {
				killed[pid], found = true, append(found, pid)
			}
		}
		if len(found) == 0 {
			break
		}
		Kill(found)
	}
	Kill([]int{top})
}

// Started returns when a process started, in clock ticks since the machine did, 0 if there is none. With its id, that
// names one process for good.
func Started(pid int) uint64 {
	p, err := Read(os.ReadFile, pid)
	if err != nil {
		return 0
	}
	return p.Started
}

// children returns the children of every process.
func children() map[int][]int {
	children := map[int][]int{}
	names, _ := filepath.Glob(filepath.Join(Proc, "[0-9]*")) // the pattern is valid
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			if p, err := Read(os.ReadFile, pid); err == nil {
				children[p.Parent] = append(children[p.Parent], pid)
			}
		}
	}
	return children
}

// environ is the name of the file with a process's environment at its start.
const environ = "environ"

// With returns the processes that were started with a variable, such as "MAESTRO_SESSION_ID=sess_1", in their
// environment, as far as the kernel shows that to this user.
func With(variable string) (pids []int) {
	want := append([]byte{0}, variable...)
	want = append(want, 0)
	names, _ := filepath.Glob(filepath.Join(Proc, "[0-9]*")) // the pattern is valid
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || pid == os.Getpid() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(name, environ))
		if err == nil && bytes.Contains(append(append([]byte{0}, content...), 0), want) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Exists reports whether there is a process with an id.
func Exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
