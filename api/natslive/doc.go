// Package natslive lets plain NATS clients follow what is committed, on maestro.live.<project>.<aggregate>.<id>, with a
// token of the user. It runs a nats-server of its own, without JetStream and without a file: the log, and the server
// that keeps it, cannot be reached from here. Start reading at [Start].
//
// # Who is authoritative
//
// The service is. A credential gets exactly the events that [service.Service.WatchNow] shows to it, so what a client
// reads here is what the live views show to the same token: committed events only, in order, without what it may not
// read. Each credential has an account of nats-server to itself, so no client can read what another one is shown.
//
// # What happens on each failure
//
//   - The token is revoked or expires: its connections are closed.
//   - A client does not read: nats-server closes its connection. The writer never waits for a client; at worst a feed
//     falls behind the log, and then its connections are closed too.
//   - The client reconnects: it has missed what was committed meanwhile. The position of the last event that it got
//     continues over GET /api/live.
package natslive
