// Package listen listens on a server's address and answers until the server is told to stop. It imports api, whose
// listener bounds the connections, internal/failure, internal/files, and service/wire for what /readyz says of the
// certificate.
//
// Start with On, which listens on the address, and Until, which serves and shuts down in order; NATS has the options of
// the listener for NATS clients.
package listen
