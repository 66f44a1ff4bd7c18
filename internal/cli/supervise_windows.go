package cli

import "os"

// terminate kills a process: there is no signal that asks it to end.
var terminate = os.Kill

// passedOn are the signals that are forwarded to the command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// stops reports whether a signal asks a command to end.
func stops(os.Signal) bool { return true }

// deliveredByTerminal reports whether the terminal has sent a signal to the command too.
func deliveredByTerminal(os.Signal) bool { return true }

// codeOf returns the exit code of a command.
func codeOf(state *os.ProcessState) int { return state.ExitCode() }
