// Package service is the application core: what can be asked, and who may ask it, the same for every interface.
//
// It imports engine, commands, projections, events, the wire shapes and workers/manifest, and knows nothing of HTTP. A
// [Caller] comes from a credential ([Service.Authenticate]); a [View] is the state as a caller sees it, and its methods
// are the queries, whose answers are the wire shapes; a [Problem] is the answer no. Start reading at [Service], then
// [View], then any file of a noun, such as task.go.
package service
