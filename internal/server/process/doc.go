// Package process deals with what surrounds a server's process: its streams and log, its signals, the limit of its open
// files, the service manager that started it, and what runs beside it. It imports only internal/lines of ours.
//
// Start with streams.go, which keeps a server going when nobody reads what it writes.
package process
