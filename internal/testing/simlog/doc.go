// Package simlog is a log in memory that fails on command. It satisfies engine.Log and keeps apart what a reader may
// see (the cache) and what survives a crash (the disk).
//
// A [Store] is the log itself, a [Log] one process's connection to it. Every operation of a Log is an [Op]; its
// [Outcome] is chosen when it is resolved: a simulation holds each operation and resolves it later (see [Log.Hold]), a
// test of a single process resolves it at once. An operation changes the store in one moment, when it is resolved.
//
//	           Append                        Sync                    crash
//	(nothing) ───────► cached, not firm ───────────► firm            a first part of what is not firm survives
//	                       │ Dropped                                 all that is firm survives
//	                       └───────────► (nothing)
//
// [Snapshots], a [Witness] and [Blobs] complete the log. They can be damaged, aged and exchanged too.
package simlog
