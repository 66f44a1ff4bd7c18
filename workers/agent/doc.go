// Package agent knows how each agent CLI is started, guarded and read: Claude Code, Codex, Gemini, and any configured
// command (docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands").
//
// A [Driver] turns what is known about a run ([Launch]) into a prepared command ([Start]): the command line, a small
// environment, the prompt on standard input, and the files that the CLI needs in its own directory. Its [Reader] turns
// the lines that the CLI prints into [Observation] values, which are the same for every agent. Each CLI calls a hook
// before each tool call; [ParseHook] reads its payload, and [HookCall.Denied] and [HookCall.Allowed] are the answers.
//
// The package starts no process and keeps no state. The supervisor of a session does both. Everything that a CLI prints
// or sends is written by a model or by the files that it reads: a Reader and ParseHook accept any bytes.
//
// The CLIs let a tool call run if their hook fails: if it crashes, is missing or is late, and Codex and Gemini even if
// it denies without a text. So the hook is a shell line that denies with a text unless Maestro allows (hookline.go).
//
// It imports events, workers/blank, internal/disk, internal/files, internal/syntax and internal/lazyregexp. Start with
// agent.go, then read claude.go.
package agent
