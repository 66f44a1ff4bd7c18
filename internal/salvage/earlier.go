package salvage

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"maestro/internal/files"
)

// maxReport bounds what is read of the report of an earlier salvage.
const maxReport = 64 << 20

// readEarlier takes over the report of the salvage that made the damaged home: what was lost then is lost now.
func (s *salvage) readEarlier() {
	path := filepath.Join(s.options.Home.Dir(), reportFile)
	in, err := files.OpenNamed(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var earlier Report
	if err == nil {
		err = errors.Join(json.NewDecoder(io.LimitReader(in, maxReport)).Decode(&earlier), in.Close())
	}
	if err != nil {
		s.unread(path+", the report of an earlier salvage", err)
		return
	}
	s.earlier = &earlier
}

// settleEarlier says what the earlier salvage lacked, if events were written on top of it. If none were, the home is
// salvaged as if it were the first time, and what was lost is looked for again.
func (s *salvage) settleEarlier() {
	switch {
	case s.earlier == nil || !s.earlier.lacks():
	case s.store != nil && s.store.Head() > s.earlier.Head.Sequence:
		s.report.Earlier = s.earlier
	default:
		s.end.saw(s.earlier.End, "the report of an earlier salvage")
	}
}
