package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"maestro/service/wire"
	"maestro/workers/processes"
)

const (
	// ancestorsAtMost bounds one walk up the process tree, walksAtMost the number of restarts because a process ended
	// meanwhile.
	ancestorsAtMost = 1000
	walksAtMost     = 100
)

// sessionAbove returns the session of the nearest ancestor process that was started for one, "" if there is none. It
// sees what the kernel shows to this user: the environment of each ancestor at its start, and its command line.
func sessionAbove() (session string, err error) {
	return processTable(os.ReadFile).sessionAbove(os.Getpid())
}

// processTable reads files below /proc.
type processTable func(name string) ([]byte, error)

func (p processTable) sessionAbove(pid int) (session string, err error) {
	if _, err := p.read(pid); errors.Is(err, fs.ErrNotExist) {
		return "", nil // this system shows no processes
	}
	for range walksAtMost {
		session, whole := p.walk(pid)
		if whole || session != "" {
			return session, nil
		}
	}
	return "", errOrigin
}

// walk goes up from a process once. It is incomplete if a process ended meanwhile, because its children then have
// another parent.
func (p processTable) walk(pid int) (session string, whole bool) {
	child, err := p.read(pid)
	if err != nil {
		return "", false
	}
	for range ancestorsAtMost {
		above := child.Parent
		if above <= 0 {
			return "", true
		}
		if session := p.startedAs(above); session != "" {
			return session, false
		}
		parent, err := p.read(above)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) && hides(above) {
			return "", true // another user's process, about which the kernel shows nothing
		}
		if err != nil || parent.Exiting {
			return "", false
		}
		if again, err := p.read(pid); err != nil || again.Parent != above {
			return "", false
		}
		pid, child = above, parent
	}
	return "", false
}

func (p processTable) read(pid int) (processes.Process, error) { return processes.Read(p, pid) }

// hides reports whether a process exists although the kernel does not show it.
func hides(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.EPERM) }

// startedAs returns the session for which a process was started, or for which it runs a command.
func (p processTable) startedAs(pid int) string {
	dir := filepath.Join(processes.Proc, strconv.Itoa(pid))
	environ, _ := p(filepath.Join(dir, "environ")) // another user's is not shown
	if session := sessionIn(environment(nulWords(environ))); session != "" {
		return session
	}
	line, _ := p(filepath.Join(dir, "cmdline"))
	return executes(nulWords(line))
}

// nulWords splits text in which NUL ends each word, as the kernel writes it.
func nulWords(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// executes returns the session of a command line of `maestro session exec`, or of an agent's supervisor, or "". The
// name of the program does not matter: it may be a link. A program that runs maestro itself, such as timeout, does not
// count.
func executes(line []string) string {
	if len(line) > 2 && (line[1] == wire.ProgramSupervisor || line[1] == wire.ProgramConfined) {
		return line[2]
	}
	dash := slices.Index(line, "--")
	if dash < 0 || !slices.Contains(line[:dash], "exec") {
		return ""
	}
	called, rest, err := Called(line[1:])
	if err != nil || called.CommandPath() != "maestro session exec" || called.ParseFlags(rest) != nil {
		return ""
	}
	return called.Flags().Arg(0)
}
