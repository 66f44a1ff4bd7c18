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

// behind writes what can be read behind the gap, and lists what cannot.
func (s *salvage) behind(head events.Head, dir string) error {
	last, _ := s.seen()
	s.settleEnd()
	if head.Sequence >= last {
		return nil
	}
	name := s.fileName(behindFile)
	f, err := disk.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	err = s.writeBehind(out, head.Sequence+1, last)
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

func (s *salvage) writeBehind(out *bufio.Writer, from, to uint64) error {
	named := map[string]bool{}
	var line []byte
	var before events.Head // the last that was written
	for sequence := from; sequence <= to; sequence++ {
		if err := errors.Join(s.ctx.Err(), s.intact.err); err != nil {
			return err
		}
		m, ok := s.any(sequence, before)
		if !ok {
			next := min(s.nextThere(sequence+1), to+1)
			s.report.miss(sequence, next-1)
			sequence = next - 1
			continue
		}
		var hash events.Hash
		if event, err := events.Decode(m.Body); err == nil {
			hash = hashBehind(event, m)
			before = events.Head{Sequence: sequence, Hash: hash}
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
		s.found(m)
		s.report.Behind++
	}
	return s.ctx.Err()
}
