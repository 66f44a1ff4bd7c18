// Package simlog is a log in memory that fails on command. It satisfies engine.Log and keeps apart what a reader may
// see (the cache) and what survives a crash (the disk).
//
// A [Store] is the log itself, a [Log] one process's connection to it. Every operation of a Log is an [Op]; its
// [Outcome] is chosen by whoever holds it: a simulation holds each operation and resolves it later (see [Log.Hold]), a
// test of one process alone lets them go at once. What an operation does to the store happens in one moment, when it is
// resolved.
//
//	           Append                        Sync                    crash
//	(nothing) ───────► cached, not firm ───────────► firm            a first part of what is not firm survives
//	                       │ Dropped                                 all that is firm survives
//	                       └───────────► (nothing)
//
// Beside the log stand [Snapshots], a [Witness] and [Blobs], which can be damaged, aged and exchanged as well.
package simlog
