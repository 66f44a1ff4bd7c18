// Package backups makes a home's automatic backups: one a day by default, the last seven kept, in a directory beside
// the home. [Dir] is the directory, [Schedule] decides when the next one is due. When it is due follows from the
// newest file, not from how long the process runs, so a machine that is on for two hours a day gets its backups.
//
// It imports bus, which writes and reads an archive, engine for the log, events, internal/files and internal/failure.
// Start with [Source], which says what a backup is made of, and schedule.go.
package backups
