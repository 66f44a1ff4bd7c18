// Package sandbox judges a bash command line before an agent runs it
// (docs/spec/001-agent-launch-and-sandbox.md, "Sandbox Constraints (Claude Only)"): whether it formats or overwrites a
// disk, stops the machine, or writes outside the session's directories.
//
// A line is not matched but evaluated. [Judge] parses it, walks the syntax tree as bash would run it, and evaluates
// what is constant: quotes, variables, loops, substitutions of echo and of decoders. Nothing is executed and no file is
// read, so conditions are not decided: each branch is judged. What cannot be evaluated is a mark in the text (mark.go),
// and is blocked where it would decide what runs or what is written.
//
// Start with walk.go (statements), word.go (words) and call.go (one command with its arguments, and which file judges
// it). Evaluation is bounded in depth, steps and bytes (budget.go).
//
// The package uses no file, network, clock or environment. It imports mvdan.cc/sh/v3/syntax for the grammar, and
// internal/safetext to show foreign text.
package sandbox
