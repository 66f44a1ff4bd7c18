// Package agents runs the runner inside `maestro serve`, which launches the agents of this machine: its flags, and how
// it reaches the server that it is part of.
//
// It imports workers/runner, workers/supervisor, workers/confine, api/client, commands, service, service/wire,
// internal/failure, internal/home, internal/server/listen and internal/server/process. Start with agents.go.
package agents
