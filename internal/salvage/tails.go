package salvage

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/disk"
)

// tail is an end of the log that a start cut off as an unfinished append. It may have been more than that.
type tail struct {
	path   string
	store  *bus.ReadOnly
	source *source
	// left are its events that are not in the new home so far.
	left map[events.Head]bool
}

func (t *tail) close() {
	if t.source != nil {
		t.source.stop()
	}
	_ = t.store.Close()
}

// openTails opens the ends that starts cut off, and lists their events.
func (s *salvage) openTails() error {
	paths, err := bus.Tails(s.options.Home.Store())
	if err != nil {
		s.unread("the home's directory", err)
		return nil
	}
	for _, path := range paths {
		store, err := bus.OpenReadOnly(s.ctx, bus.Options{Dir: path})
		if err != nil {
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			s.unread(path, err)
			continue
		}
		cut := &tail{path: path, store: store, left: map[events.Head]bool{}}
		s.tails = append(s.tails, cut)
		if err := store.Readable(s.ctx, func(m events.Message) error {
			cut.left[events.Head{Sequence: m.Sequence, Hash: events.BodyHash(m.Body)}] = true
			return nil
		}); err != nil {
			return err
		}
		cut.source = newSource(path, func(yield func(events.Message) error) error {
			return store.Readable(s.ctx, yield)
		})
	}
	return nil
}

// compareTails compares the ends that starts cut off with what the home remembers.
func (s *salvage) compareTails() {
	if len(s.tails) == 0 {
		return
	}
	s.findWitnesses(1)
	for _, cut := range s.tails {
		chain := &chainReader{witnesses: s.witnesses}
		_ = cut.store.Readable(s.ctx, func(m events.Message) error { // unreadable reports an error
			chain.message(m)
			return nil
		})
		cut.source.by, cut.source.runs = byCutOff, chain.runs
	}
}

// unread records something unreadable that may hold acknowledged events.
func (s *salvage) unread(path string, err error) {
	s.report.Unread = append(s.report.Unread, fmt.Sprintf("%s: %s", path, err))
}

// found records that an event is in the new home.
func (s *salvage) found(m events.Message) {
	for _, cut := range s.tails {
		if len(cut.left) > 0 {
			delete(cut.left, events.Head{Sequence: m.Sequence, Hash: events.BodyHash(m.Body)})
		}
	}
}

// keepTails writes the events of the tails that are nowhere else in the new home.
func (s *salvage) keepTails(dir string) (err error) {
	left := 0
	for _, cut := range s.tails {
		left += len(cut.left)
	}
	if left == 0 {
		return nil
	}
	s.report.TailFile = s.fileName(tailFile)
	f, err := disk.OpenFile(filepath.Join(dir, s.report.TailFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	var line []byte
	for _, cut := range s.tails {
		if len(cut.left) == 0 {
			continue
		}
		s.note("%s has events that are not in the new log: a start cut them off", cut.path)
		if err := cut.store.Readable(s.ctx, func(m events.Message) error {
			if !cut.left[events.Head{Sequence: m.Sequence, Hash: events.BodyHash(m.Body)}] {
				return nil
			}
			s.place(m)
			s.noteType(m)
			hash, _ := hashBehind(m)
			s.report.Tail++
			line = export.Append(line[:0], m, hash)
			_, err := out.Write(line)
			return err
		}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// fileName returns a name for a file of the new home that the damaged home does not use: it may itself be a salvaged
// one, whose files are copied.
func (s *salvage) fileName(base string) string {
	for n := 1; ; n++ {
		name := base + ".ndjson"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.ndjson", base, n)
		}
		if _, err := disk.Lstat(filepath.Join(s.options.Home.Dir(), name)); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}
