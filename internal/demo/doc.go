// Package demo is the main job on real input: a server, an orchestrator and four workers as separate processes that use
// the real command line as agents would, with a worker and the server killed, and another worker cut off for a while.
// Only the agents' thinking is made up.
//
// It imports nothing of ours: whatever it knows of Maestro, it knows from running the binary. Start reading at [Run].
package demo
