// Package prompt writes an agent's prompts: the system prompt and the task prompt
// (docs/spec/002-prompt-contract.md, "Canonical System Prompt Shape" and "Task Prompt Shape"), and the command brief
// (docs/spec/000-command-permissions.md, "Command Brief Generation"). It is the one renderer for all agent tools.
//
// Mode, strategy and commands come from the manifest alone: [System] depends on them, [Task] on the rest of the
// manifest. The same manifest and session give the same bytes.
//
// Three things each have one place. [Syntax] has the command line of every command id. A workflow is a text with slots
// ([CheckTemplate] describes its form) that names commands only by id: a step that needs a command which the session
// may not use is left out, so that no agent is told to do something it may not do. And one writer inserts and escapes
// all values, so no text in a manifest can add, end or rename an element.
//
// The package uses no file, network or clock.
package prompt
