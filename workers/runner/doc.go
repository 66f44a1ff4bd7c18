// Package runner launches the agents of sessions on one machine. It asks the server what there is to do, begins the
// runs of sessions that wait for it, and starts a supervisor for each; a supervisor outlives it.
//
// The server is authoritative for what is to run, the locks of supervisors for what does run. The runner compares the
// two, again and again, so it needs no memory of its own: after a restart it goes on with what is there.
//
//	server says     a supervisor runs     then
//	claim           no                    begin the run, if there is room; then start a supervisor
//	running         yes                   nothing: it is attached again
//	running         no, never began       start a supervisor: the runner was killed between the two
//	running, ended  no                    end what is left of the agent, and record its exit
//	ended           yes                   nothing: the supervisor learns it from the server, and ends the agent
//
// A run is begun once, because the server takes one claim; a supervisor of it runs once, because of the lock.
//
// Start with runner.go; start.go starts the process of a supervisor. The package imports workers/agent,
// workers/confine, workers/manifest, workers/processes, workers/supervisor, api/client, service/wire, commands, events
// and internal/home.
package runner
