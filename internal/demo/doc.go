// Package demo runs Maestro's main job with real processes: a server, whose runner launches twelve workers on one queue
// and an orchestrator with two workers, each a process that uses the real command line as an agent would, and is
// confined. Two workers, the supervisor of a third and the server are killed with SIGKILL, a worker asks a question, one
// receives a message, one has its work reopened, and one tries to become its user. Only the agents' work is invented.
//
// The result is judged by the exported log alone, and by what the worker says that tried to become its user. The package
// imports workers/processes, to find what it kills, and none other of our packages: it uses Maestro only by running the
// binary. Start reading at [Run].
package demo
