// Package offline holds the commands that need no server: they judge, restore and salvage files and homes. They may use
// what keeps and decides a log, which the rest of the command line may not.
package offline
