// Package export is the format in which a log leaves the server, and its verification: NDJSON, one line per message. A
// line contains the event byte for byte or, if it was withheld, the hashes that still link the chain. Start reading at
// [Line]; [VerifyExport] checks a whole file, without a server.
package export
