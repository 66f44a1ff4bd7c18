// Package moments makes a long log, and compares what a server answers about random moments of it with a fold of the
// log from its beginning. It contains tests only.
package moments
