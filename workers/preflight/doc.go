// Package preflight prepares the directories of a run before its agent starts: the routine prepare_worker_environment
// (docs/spec/001-agent-launch-and-sandbox.md, "Pre-Flight Validation & Setup"). A failure is a *Failure, which says
// what is wrong with which path and how to correct it; a supervisor turns it into a question to the user.
//
// It uses the file system, and imports internal/files. Start with preflight.go.
package preflight
