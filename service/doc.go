// Package service is the application core: it defines what callers can do and which callers may do it, in the same way
// for every interface.
//
// It imports engine, commands, projections, events, the wire types and workers/manifest, and is independent of HTTP. A
// [Caller] comes from a credential ([Service.Authenticate]). A [View] is the state as a caller sees it; its methods are
// the queries, which return wire types. A [Problem] is a negative answer. Start reading at [Service], then [View], then
// any file named after a noun, such as task.go.
package service
