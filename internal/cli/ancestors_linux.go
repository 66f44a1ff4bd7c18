package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// proc is where the kernel shows processes.
const proc = "/proc"

// ancestorsAtMost bounds the walk up the process tree, which may change meanwhile.
const ancestorsAtMost = 10_000

// sessionAbove gives the session as which the nearest ancestor of a process was started, "" if there is none. It sees
// what the kernel shows to this user: the environment that each ancestor had at its start, and its command line.
func sessionAbove(pid int) (session string) {
	for range ancestorsAtMost {
		if pid = parentOf(pid); pid <= 0 {
			return ""
		}
		if session := startedAs(pid); session != "" {
			return session
		}
	}
	return ""
}

// parentOf gives the parent of a process, 0 if there is none or the kernel does not show it.
func parentOf(pid int) int {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat[max(bytes.LastIndexByte(stat, ')'), 0):]), " ") // the name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // 0 if it is no number
	return parent
}

// startedAs gives the session as which a process was started, or as which it runs a command.
func startedAs(pid int) string {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // another user's is not shown
	if session := sessionIn(environment(nulWords(environ))); session != "" {
		return session
	}
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	return executes(nulWords(line))
}

// nulWords splits what the kernel shows, in which NUL ends each word.
func nulWords(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// executes returns the session as which a command line of `maestro session exec` runs a command, else "". What the
// program is called does not matter: it may be a link. A program that runs maestro itself, such as timeout, is not one.
func executes(line []string) string {
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
