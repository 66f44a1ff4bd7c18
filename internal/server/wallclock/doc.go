// Package wallclock checks the machine's clock against the times that events can record, and shows a server's clock to
// its callers. It imports internal/clock, which keeps the time, events for the range of years, service/wire for the
// answer's type, and internal/failure.
//
// Start with Shown, which a server gives to the service as its clock.
package wallclock
