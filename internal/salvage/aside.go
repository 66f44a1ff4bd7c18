package salvage

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"maestro/api/export"
	"maestro/events"
	"maestro/internal/disk"
)

// asideFile has the events of the sources that are nowhere else in the new home: those on another chain than the new
// log, and those that were left out of it.
const asideFile = "salvaged-others"

// aside writes events to that file. It creates the file with the first of them.
type aside struct {
	s       *salvage
	path    string
	f       *os.File
	out     *bufio.Writer
	line    []byte
	written map[events.Head]bool
}

// besides are the events of one source that are not in the new log, nor behind its gap.
type besides struct {
	first, last, count uint64
	// kept counts those that no source before this one has.
	kept uint64
	// stranger says that the source is of another log, from its first event on.
	stranger bool
}

func (b besides) String() string {
	if b.count == 1 {
		return fmt.Sprintf("1 event, %d,", b.first)
	}
	return fmt.Sprintf("%d events, from %d to %d,", b.count, b.first, b.last)
}

// keepAside keeps what the sources have on another chain than the new log, and names the sources.
func (s *salvage) keepAside(dir string) (err error) {
	name := s.fileName(asideFile)
	a := &aside{s: s, path: filepath.Join(dir, name), written: map[events.Head]bool{}}
	defer func() {
		if a.f != nil {
			err = errors.Join(err, a.out.Flush(), a.f.Close())
			s.report.AsideFile, s.report.Aside = name, uint64(len(a.written))
		}
	}()
	if s.passedOver {
		found, err := a.keep(func(yield func(events.Message) error) error { return s.store.Readable(s.ctx, yield) })
		if err != nil {
			return err
		}
		s.report.AsideOwn = found.count
	}
	if s.store != nil {
		_, err := a.keep(func(yield func(events.Message) error) error { return s.store.Others(s.ctx, yield) })
		if err != nil {
			return err
		}
	}
	for _, other := range s.others {
		if s.inLog(other) {
			continue
		}
		found, err := a.keep(func(yield func(events.Message) error) error {
			return file{path: other.name}.messages(s.ctx, yield)
		})
		if err != nil {
			return err
		}
		s.nameAside(other, found, name)
	}
	return nil
}

// inLog reports whether the new log has all of a file's chain.
func (s *salvage) inLog(other *source) bool {
	if len(other.runs) != 1 || other.runs[0].from != 1 {
		return false
	}
	end := other.runs[0].end
	return end.Sequence <= uint64(len(s.hashes)) && s.hashes[end.Sequence-1] == end.Hash
}

// keep writes the events of a source that are nowhere else in the new home. Those of another log are not written.
func (a *aside) keep(read func(yield func(events.Message) error) error) (found besides, err error) {
	s := a.s
	var unwritten error
	_ = read(func(m events.Message) error { // the source says what of it cannot be read
		if unwritten = s.ctx.Err(); unwritten != nil || found.stranger {
			return errStopped
		}
		hash, _ := hashBehind(m)
		if m.Sequence <= uint64(len(s.hashes)) {
			if s.hashes[m.Sequence-1] == hash {
				return nil
			}
			if found.stranger = m.Sequence == 1; found.stranger {
				return errStopped
			}
		}
		place := events.Head{Sequence: m.Sequence, Hash: events.BodyHash(m.Body)}
		if s.placed[place] {
			return nil
		}
		if found.count == 0 {
			found.first = m.Sequence
		}
		found.last = m.Sequence
		found.count++
		if a.written[place] {
			return nil
		}
		a.written[place] = true
		found.kept++
		unwritten = a.write(m, hash)
		return unwritten
	})
	return found, unwritten
}

func (a *aside) write(m events.Message, hash events.Hash) (err error) {
	if a.f == nil {
		if a.f, err = disk.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		a.out = bufio.NewWriter(a.f)
	}
	a.line = export.Append(a.line[:0], m, hash)
	_, err = a.out.Write(a.line)
	return err
}

// nameAside says in the report which events of a file are not in the new log, and why.
func (s *salvage) nameAside(other *source, found besides, name string) {
	switch {
	case found.stranger:
		s.unused(other.name, "it is of another log: its first event is another")
	case found.count == 0:
	case other.left != "" && other.leftFrom > uint64(len(s.hashes)):
		why := fmt.Sprintf("%s left out and kept in %s: %s", found, name, other.left)
		s.unused(other.name, why+"; if you trust the file, --accept-faults takes them")
		s.report.LeftOut += found.kept
	default:
		s.unused(other.name, fmt.Sprintf("%s on another chain than the new log, kept in %s", found, name))
	}
}

// place records that the new home has an event beside its log.
func (s *salvage) place(m events.Message) {
	if s.placed == nil {
		s.placed = map[events.Head]bool{}
	}
	s.placed[events.Head{Sequence: m.Sequence, Hash: events.BodyHash(m.Body)}] = true
	s.found(m)
}
