// Package agents runs real agent CLIs with Maestro, against a scripted model: `make test-agents`.
package agents
