// Package outbox stores on disk the commands that a session could not deliver, and delivers them later: in order, and
// each with its original key, so that the server executes it once.
//
// An entry is a file in its session's directory. It is either completely there and durable, or absent: it is written
// under another name, synced and renamed, and then the directory is synced. Its name begins with a number, which is its
// place in the order, followed by the digest of its content, so that damage is noticed and no entry ever replaces
// another. An entry is removed once the server has given a final answer, whatever it is. If the machine dies between
// the answer and the removal, the entry is delivered again, with the same key.
//
// Two locks, which the kernel releases however a process ends, keep processes apart: one is held briefly while an entry
// is put in place, the other while entries are delivered, for as long as the network takes. Storing an entry never
// waits for a delivery.
//
//	        Keep                      Deliver: the server answered
//	(none) ──────▶ waiting ──────────────────────────────────────▶ (none)
//	                  │
//	                  ├── Deliver: it cannot be read, has no proof, or may not wait ──▶ damaged/
//	                  │
//	                  └── Deliver: it has the proof of a former secret ───────────────▶ replaced/
//
// A file that has another name than an entry goes to damaged/ as well, once nothing waits.
//
// Any process that can write to the directory can put a file there. So Keep adds a proof made with the session's secret
// to each entry. Deliver sends nothing without that proof, and only commands that may wait ([commands.MayWait]). An
// entry of another session, or one that was stored before the secret was revoked, has no valid proof. The
// server, which can make the former secrets, tells the two apart; a process of the session has only the entry's word
// ([Reject]). An old entry that somebody puts back is the same command: it has the same key, and the server executes it
// once.
//
// The order: if an entry is stored after another one was stored, in this process or in one that has ended, it is
// delivered after that one. Entries that are stored at the same time have no order.
package outbox
