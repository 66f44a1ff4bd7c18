// Package wire declares the types that cross the wire, each once: the parameters of a query, and its result. Every
// interface and the typed client use them. A field's `query` or `path` tag names its parameter.
//
// It has almost no behaviour: only the order of an inbox, and the text form of a source. A client that imports it links
// no NATS, no HTTP server and no log.
package wire
