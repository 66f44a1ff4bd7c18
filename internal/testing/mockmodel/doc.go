// Package mockmodel answers as a model API, from a script, so that a test can run a real agent CLI without a network
// and without an account: [Anthropic] for Claude Code, [OpenAI] for Codex, [Gemini] for Gemini. It keeps no state of
// its own: the next step follows from the conversation that a request carries.
package mockmodel
