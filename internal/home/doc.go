// Package home is the directory in which a server stores its log, its secrets and its address, and in which the CLI
// finds the latter two: $MAESTRO_HOME, or ~/.maestro by default.
//
// The directory belongs to its user alone: its mode is 0700, and its owner is checked each time it is opened. One
// server holds it, by a lock that the kernel releases however the server ends. Operations that only that server may
// perform are methods of [Lock]; all others are methods of [Home] and create nothing. Every path stays inside the
// directory, even through symbolic links.
package home
