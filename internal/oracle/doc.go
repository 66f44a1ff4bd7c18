// Package oracle judges an exported log: was every event in it permitted, at that moment, to whom it says it came from?
// It is written from the documents (docs/spec, and docs/contract.md, "Permissions", "Decisions", "Queues" and
// "Late reports and lost sessions") and shares no code with what decides, folds or encodes: a mistake made there is not
// made here again, so the two can be held against each other.
//
// It therefore imports the standard library and nothing of ours. It has its own envelope and payloads, its own
// permission table, transcribed by hand, and its own state, no larger than its rules need. Where the documents leave
// room it lets pass; every fault it names is against a sentence in them.
//
// A log is taken as it was written: an event that is a fault is named, and then counts as having happened, so that what
// follows is judged on what the log says.
//
// It also answers for commands: [Judge.Ask] says what one must come to, by the event that it would be, and
// [Judge.Tells] compares an event with it. [Judge.State] is what there is. The simulation has no rules of its own; it
// asks here.
//
// Start at [Judge.Line] (one line: the chain, then the event), then table.go (who may do what) and permitted.go (how it
// is asked). Each payload has a file by its noun, with what it must be (judge) and what is true afterwards (fold). Each
// command has its event, and what no event shows, in the ask file of its noun. rules.go names every rule.
package oracle
