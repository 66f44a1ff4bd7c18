// Package demo runs Maestro's main job with real processes: a server, twelve workers on one queue and an orchestrator
// with two workers, each a process that uses the real command line as an agent would. Three workers and the server are
// killed with SIGKILL, a worker asks a question, one receives a message, and one has its work reopened. Only the
// agents' work is invented.
//
// The result is judged by the exported log alone. The package imports none of our packages: it uses Maestro only by
// running the binary. Start reading at [Run].
package demo
