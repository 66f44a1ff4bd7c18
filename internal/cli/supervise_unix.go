//go:build unix

package cli

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminate asks a process to end.
const terminate = syscall.SIGTERM

// passedOn are the signals that are forwarded to the command. One that the caller ignores, as nohup does, stays ignored
// by both.
func passedOn() []os.Signal {
	return slices.DeleteFunc([]os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}, signal.Ignored)
}

// stops reports whether a signal asks a command to end.
func stops(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// deliveredByTerminal reports whether the terminal has sent a signal to the command too: a key sends it to the whole
// foreground process group.
func deliveredByTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// codeOf returns the exit code of a command as in shells: 128 plus the signal's number if a signal ended it.
func codeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() { //nolint:misspell // its name
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
