// Package wire holds the shapes that cross the wire, each declared once: what a query asks for, and what it answers.
// Every interface and the typed client use them. A field's `query` or `path` tag names the parameter that it is.
//
// It has next to no behaviour: how an inbox is ordered, and how a source is written. A client that imports it links no
// NATS, no HTTP server and nothing that keeps a log.
package wire
