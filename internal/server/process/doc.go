// Package process handles the environment of a server's process: its streams and log, its signals, its limit of open
// files, the service manager that started it, and its background tasks. Of our packages it imports only internal/lines.
//
// Start with streams.go, which keeps a server running when nobody reads its output.
package process
