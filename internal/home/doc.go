// Package home is the directory in which a server keeps its log, its secrets and its address, and in which the CLI
// finds the latter two: $MAESTRO_HOME, else ~/.maestro.
//
// The directory belongs to its user alone: it is 0700 and its owner is checked each time it is opened. One server holds
// it, by a lock that the kernel takes back however the server ends. What only that server may write is a method of
// [Lock]; all else is a method of [Home] and makes nothing. Every path stays inside the directory, also through
// symbolic links.
package home
