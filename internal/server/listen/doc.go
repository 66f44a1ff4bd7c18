// Package listen listens on a server's address and answers until the server is told to stop. It imports api, whose
// listener bounds the connections, and internal/failure.
//
// Start with On, which listens on the address, and Until, which serves and shuts down in order.
package listen
