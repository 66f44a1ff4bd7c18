package salvage

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"

	"maestro/api/export"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/disk"
)

// behind writes the readable events after the gap, and lists the missing ones.
func (s *salvage) behind(head events.Head, dir string) error {
	defer s.settleEnd()
	if last, _ := s.seen(); head.Sequence >= last {
		if s.endIsKnown() {
			return nil
		}
		if s.further(head); !s.isSeen(head.Sequence + 1) {
			return nil
		}
	}
	name := s.fileName(behindFile)
	f, err := disk.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	err = s.writeBehind(out, head)
	if err = errors.Join(err, out.Flush(), f.Close()); err != nil {
		return err
	}
	if s.report.Behind == 0 {
		return disk.Remove(f.Name())
	}
	s.report.BehindFile = name
	s.note("events behind a gap were not appended: what was decided there rests on what is missing. Tokens that were " +
		"revoked and sessions that were killed there are live again in the new home: revoke and kill them again")
	return nil
}

// isSeen reports whether the log is known to have had a sequence.
func (s *salvage) isSeen(sequence uint64) bool {
	last, _ := s.seen()
	return sequence <= last
}

func (s *salvage) writeBehind(out *bufio.Writer, head events.Head) error {
	named := map[string]bool{}
	var line []byte
	before := head // the last event that the log or the file has
	for sequence := head.Sequence + 1; ; sequence++ {
		if err := s.unreadable(); err != nil {
			return err
		}
		if before.Sequence+1 == sequence {
			s.further(before)
		}
		if !s.isSeen(sequence) {
			return nil
		}
		m, ok := s.any(sequence, before)
		if !ok {
			last, _ := s.seen()
			next := min(s.nextThere(sequence+1), last+1)
			s.report.miss(sequence, next-1)
			sequence = next - 1
			continue
		}
		s.noteType(m)
		hash, ok := hashBehind(m)
		if ok {
			before = events.Head{Sequence: sequence, Hash: hash}
		}
		if event, err := events.Decode(m.Body); err == nil {
			if r, ok := event.Data.(*events.TextRedacted); ok {
				s.redact(r.Text)
				named[r.Text] = true
			}
			for _, d := range events.Digests(event.Data) {
				if !named[d.Digest] {
					named[d.Digest] = true
					s.named = append(s.named, engine.NamedText{Sequence: sequence, Field: d.Field, Digest: d.Digest})
				}
			}
		}
		line = export.Append(line[:0], m, hash)
		if _, err := out.Write(line); err != nil {
			return err
		}
		s.place(m)
		s.report.Behind++
	}
}
