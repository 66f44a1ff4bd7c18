// Package backups makes a home's automatic backups: one a day by default, with the last seven kept, in a directory
// beside the home. [Dir] is the directory, and [Schedule] decides when the next backup is due. That depends on the
// newest file, not on how long the process has run, so that a machine that is on for two hours a day is backed up too.
//
// It imports bus, which writes and reads an archive, engine for the log, events, internal/files and internal/failure.
// Start with [Source], which says what goes into a backup, and schedule.go.
package backups
