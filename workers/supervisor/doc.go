// Package supervisor runs one session's agent, from the checks before it starts to the record of how it ended. Each
// agent has a supervisor of its own, the process `maestro agent-run`, which outlives the server and the runner that
// started it.
//
//	            preflight          launch            the agent ended
//	claimed ──────────────▶ ready ────────▶ working ────────────────▶ looking
//	   ▲  a check failed:                      ▲   mail, or a reminder    │
//	   └─ a question, and its answer           └──────────────────────────┤
//	                                                                      ▼
//	                         the session was ended, or its secret revoked: exited
//
// The supervisor is authoritative for the processes of the agent, for its output, for the decisions about its tool
// calls and for the session's outbox; the server for everything else. What it tells the server is sent until there is
// an answer, each time with the same key: while no server answers, the agent keeps working, and its reports wait in the
// outbox. If the supervisor is killed, the kernel ends the agent with it where it has namespaces, and elsewhere the
// runner does; the runner reports the exit.
//
// The agent has a socket and no secret. Only processes below the supervisor are served there.
//
// Start with supervisor.go; socket.go has what the agent's programs call, hook.go decides about its tool calls, and
// stream.go reads its output. attach.go has the supervisor of `maestro session exec`, in its own process. The package
// imports the other packages of workers, api/client, service/wire, commands, events, internal/home, internal/disk,
// internal/files and internal/safetext.
package supervisor
