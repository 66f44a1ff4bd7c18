// Package api is the HTTP interface of Maestro: the one route for commands, the reads, the audit and the health checks.
// The routes that only older clients know are in api/compat, which it mounts.
//
// It decides nothing: a write goes to service.Do, a read to a query of service.View. It splits lists into pages.
//
// The path of a request: [New] returns a handler whose ServeHTTP checks Host and Origin (origin.go), identifies the
// caller by the credential (auth.go), and routes. POST /api/commands/<id> is answered without a router
// (commands.go), because it gets nearly all calls. Every other route is in the file of its noun and is registered
// through api/route, which describes it, too. errors.go writes every error.
package api
