package salvage

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"maestro/internal/backups"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/syntax"
)

// maxReport bounds the report of an earlier salvage.
const maxReport = 64 << 20

// ReadReport returns the report of the salvage that created a home; fs.ErrNotExist if there is none.
func ReadReport(dir string) (*Report, error) {
	in, err := files.OpenNamed(filepath.Join(dir, reportFile))
	if err != nil {
		return nil, err
	}
	report := &Report{}
	err = errors.Join(syntax.Plain(json.NewDecoder(io.LimitReader(in, maxReport)).Decode(report)), in.Close())
	if err != nil {
		return nil, err
	}
	return report, nil
}

// readEarlier takes over the report of the salvage that created the damaged home: what was lost then is lost now.
func (s *salvage) readEarlier() {
	earlier, err := ReadReport(s.options.Home.Dir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.unread(filepath.Join(s.options.Home.Dir(), reportFile)+", the report of an earlier salvage", err)
	default:
		s.earlier = earlier
	}
}

// readEarlierBackups lists the backups from before the damaged home was created: it is not a fault that they reach
// further than its log. An unreadable note lists none.
func (s *salvage) readEarlierBackups() {
	note, err := s.options.Home.EarlierBackups()
	if err == nil {
		s.before, err = backups.ParseEarlier(note)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.before = backups.Earlier{}
		s.note("%s cannot be read, so backups from before the home was made are used too: %s",
			filepath.Join(s.options.Home.Dir(), home.EarlierNote), err)
	}
}

// settleEarlier reports what the earlier salvage lacked, if events were written after it. Otherwise the home is
// salvaged as if for the first time, and what was lost is searched for again.
func (s *salvage) settleEarlier() {
	switch {
	case s.earlier == nil || !s.earlier.lacks():
	case s.store != nil && s.store.Head() > s.earlier.Head.Sequence:
		s.report.Earlier = s.earlier
	default:
		s.end.saw(s.earlier.End, "the report of an earlier salvage")
	}
}
