// Package api is how others reach Maestro over HTTP: the one route of commands, the reads, the routes that older
// clients know, the audit and the health checks.
//
// It decides nothing. A write becomes a command and goes to engine.Handler; a read asks commands.Permit and shows a
// view of the committed state. It imports commands, projections and events.
//
// One way round: [New] gives a handler whose ServeHTTP checks Host and Origin (origin.go), learns from the credential
// who calls (auth.go), and routes. POST /api/commands/<id> is answered without a router or a framework (commands.go),
// because nearly all calls are it; everything else is a file of a noun, registered through routes.go, which also
// keeps what the OpenAPI document is made of. Every error leaves through errors.go.
package api
