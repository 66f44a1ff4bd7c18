// Package prompt writes what an agent is told: the system prompt and the task prompt
// (docs/spec/002-prompt-contract.md, "Canonical System Prompt Shape" and "Task Prompt Shape"), and the command brief
// (docs/spec/000-command-permissions.md, "Command Brief Generation"). It is the one renderer for all agent tools.
//
// Mode, strategy and commands come from the manifest alone: [System] rests on them, [Task] on what else the manifest
// holds. The same manifest and session give the same bytes.
//
// Three things are in one place each. [Syntax] is the executable form of every command id. A workflow is a text with
// slots ([CheckTemplate] says how one looks) that names a command by its id only: a step that needs a command which the
// session may not use is left out, so that no agent is told to do what it may not. And all that is inserted goes
// through one writer, which escapes it: no text of a manifest can add, end or rename an element.
//
// Nothing here touches a file, a network or a clock.
package prompt
