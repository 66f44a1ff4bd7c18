// Package oracle judges an exported log: was every event in it permitted, at that moment, to the actor that it names?
// It is written from the documents (docs/spec, and docs/contract.md, "Permissions", "Decisions", "Queues" and "Late
// reports and lost sessions") and shares no code with the packages that decide, fold or encode. It does not repeat a
// mistake made there, so the two can be compared.
//
// It therefore imports nothing that knows of events: the standard library, lazyregexp and syntax. It has its own
// envelope and payloads, its own permission table, transcribed by hand, and its own state, no larger than its rules
// need. Where the documents leave a choice, it accepts either way; every fault that it reports contradicts a sentence
// in them.
//
// A log is judged as it is: a faulty event is reported, but still counts as having happened when later events are
// judged.
//
// It also judges commands: [Judge.Ask] returns the required result of one, as the event that it would become, and
// [Judge.Tells] compares an event with it. [Judge.State] returns the existing objects. The simulation has no rules of
// its own; it uses these.
//
// Start at [Judge.Line] (one line: the chain, then the event), then table.go (who may do what) and permitted.go (how
// the table is applied). Each payload is in the file of its noun, with the rules for it (judge) and its effect (fold).
// Each command is in the ask file of its noun, with its event and the checks that no event can show. rules.go names
// every rule.
package oracle
