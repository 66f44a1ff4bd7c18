// Package demo is the main job on real input: a server, twelve workers on one queue and an orchestrator with two
// workers, each a process that uses the real command line as an agent would. Three workers and the server are killed
// with SIGKILL, a worker asks, one gets a message, and one has its work reopened. Only the agents' work is made up.
//
// What came of it is judged by the exported log alone. The package imports nothing of ours: whatever it knows of
// Maestro, it knows from running the binary. Start reading at [Run].
package demo
