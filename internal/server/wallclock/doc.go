// Package wallclock holds the machine's clock against what events can say, and shows a server's clock to its callers.
// It imports internal/clock, which keeps the time, events for the years that they have, service/wire for the shape, and
// internal/failure.
//
// Start with Shown, which is what a server gives to the service as its clock.
package wallclock
