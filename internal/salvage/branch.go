package salvage

import (
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
)

// endsOfBackups returns the home's automatic backups by the sequence at which they end, according to their names.
func (s *salvage) endsOfBackups() map[uint64][]file {
	ends := map[uint64][]file{}
	for _, f := range s.sources {
		made, ok := backups.Named(f.path)
		if ok && !f.named && !s.before.Has(made) {
			ends[made.Sequence] = append(ends[made.Sequence], f)
		}
	}
	return ends
}

// compareBackups compares the new log with automatic backups that end at its head. A backup that holds another event
// there was made before the home was replaced by an older copy, from which the log was continued. The end comes from
// the name, which is trusted only if the home's key signed the backup.
func (s *salvage) compareBackups(head events.Head, ending []file) {
	for _, f := range ending {
		if made, ok := backups.Named(f.path); !ok || made.Of(head) {
			continue
		}
		read, err := f.check(s.ctx, s.options.Signer, &chainReader{})
		contents := read.contents
		if err != nil || contents.Head.Sequence != head.Sequence || contents.Head.Hash == head.Hash {
			continue // a misnamed file, or an unreadable one: reported elsewhere
		}
		s.verifier.Fault(head.Sequence, engine.FaultWitness, "the backup %s has hash %s here, and the log has %s: "+
			"the log was continued from an older copy of the home, without events that the backup holds; to get at "+
			"them, restore the backup into another new home", f.path, contents.Head.Hash, head.Hash)
	}
}
