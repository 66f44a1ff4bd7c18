// Package service is the application core: what callers can do, and which callers may do it, the same for every
// interface.
//
// It imports engine, commands, projections, events, the wire types and workers/manifest, and knows nothing of HTTP. A
// [Caller] comes from a credential ([Service.Authenticate]). A [View] is the state as a caller sees it; its methods are
// the queries, which return wire types. A [Problem] is a negative answer. Start reading at [Service], then [View], then
// any file of a noun, such as task.go.
package service
