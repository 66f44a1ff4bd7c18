// Package offline has the commands that need no server: they verify, restore and salvage files and homes. They may
// import the packages that store and decide a log, which the rest of the command line may not.
package offline
