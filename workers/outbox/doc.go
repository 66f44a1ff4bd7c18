// Package outbox keeps on disk the commands that a session could not deliver, and delivers them later: in order, and
// each with the key that it had at first, so that the server does it once.
//
// An entry is a file of its session's directory. It is either there, whole and durable, or not at all: it is written
// under another name, synced, renamed, and the directory synced. Its name begins with a number, which is its place in
// the order, and goes on with the digest of its content, so that damage is seen and no entry ever takes the place of
// another. An entry leaves when the server has answered it, whatever the answer was. If the machine dies between the
// answer and that, it is delivered again, with the same key.
//
// Two locks, which the kernel takes back however a process ends, keep processes apart: one is held while an entry is
// put in place, for an instant, and one while entries are delivered, for as long as the network takes. Keeping never
// waits for delivering.
//
//	        Keep                      Deliver: the server answered
//	(none) ──────▶ waiting ──────────────────────────────────────▶ (none)
//	                  │
//	                  └── Deliver: it cannot be read, has no proof, or may not wait ──▶ damaged/
//
// A file that has another name than an entry goes to damaged/ as well, once nothing waits.
//
// Whoever can write to the directory can put a file there. So Keep proves each entry with the session's secret, and
// Deliver sends nothing without that proof, and no command but those that may wait ([commands.MayWait]). An entry of
// another session, or one that was kept before the secret was revoked, has no proof. An old entry that is put back is
// the same command: it has the same key, and the server does it once.
//
// What is in the order: an entry that is kept after another was kept, in this process or in one that has ended, is
// delivered after it. Entries that are kept at the same time have no order.
package outbox
