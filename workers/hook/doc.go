// Package hook is the program `maestro hook`, which an agent's CLI runs before each tool call. It asks the supervisor
// of the agent whether the call may run, and answers in the CLI's own form.
//
// The CLIs let a call run if their hook fails, so whatever goes wrong here denies it: the exit code is then 2, which is
// also that of a crash of a Go program, and the shell line that runs the hook turns every other code into 2.
//
// It imports service/wire, workers/agent and workers/socket. Start with hook.go.
package hook
