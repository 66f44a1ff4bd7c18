// Package listen is how a server takes its address and answers there until it is told to stop. It imports api, whose
// listener bounds the connections, and internal/failure.
//
// Start with On, which takes the address, and Until, which serves and ends in order.
package listen
