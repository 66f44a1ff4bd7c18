// Package api is how others reach Maestro over HTTP: the one route of commands, the reads, the audit and the health
// checks. The routes that older clients know are in api/compat, which it mounts.
//
// It decides nothing: a write goes to service.Do, a read to a query of service.View. It cuts lists into pages.
//
// One way round: [New] gives a handler whose ServeHTTP checks Host and Origin (origin.go), learns from the credential
// who calls (auth.go), and routes. POST /api/commands/<id> is answered without a router or a framework (commands.go),
// because nearly all calls are it; everything else is a file of a noun, registered through api/route, which also makes
// the OpenAPI document. Every error leaves through errors.go.
package api
