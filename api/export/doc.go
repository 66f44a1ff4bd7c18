// Package export is the form in which a log leaves the server, and its proof: NDJSON, one line a message. A line
// carries the event byte for byte, or, where it was withheld, the hashes that still hold the chain together. Start
// reading at [Line]; [VerifyExport] judges a whole file, without a server.
package export
