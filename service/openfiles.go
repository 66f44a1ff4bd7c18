package service

import (
	"fmt"
	"math"
)

// A connection takes an open file of the process, and so does each block of the store. The connections leave a reserve,
// so that neither an accept nor the store fails for want of one.

const (
	// fewestFiles is how many open files a server needs at least.
	fewestFiles = 128
	// reserveMost is the largest reserve. A smaller limit of open files is halved.
	reserveMost = 1024
	// ConnectionsQuota is the name of the quota that the limit of open files bounds.
	ConnectionsQuota = "server-connections"
)

// FitOpenFiles holds the quota of connections to the number of files that the process may have open: half of them, or
// all but 1,024 where that is more. It lowers the default, and refuses a value that was set and is above that. 0 files
// is no limit.
func (l *Limits) FitOpenFiles(files uint64) error {
	if files == 0 || files > math.MaxInt32 {
		return nil
	}
	if files < fewestFiles {
		return fmt.Errorf("the process may have only %d files open (ulimit -n), and the server needs at least %d",
			files, fewestFiles)
	}
	most := float64(files - min(files/2, reserveMost))
	q, set := l.set[ConnectionsQuota]
	switch {
	case set && (q.Value == 0 || q.Value > most):
		return fmt.Errorf("%s=%s cannot work: the process may have %d files open (ulimit -n), which leaves room for "+
			"%s connections", ConnectionsQuota, plain(q.Value), files, plain(most))
	case set:
		return nil
	}
	if q, _ = quotaNamed(ConnectionsQuota); q.Value <= most {
		return nil
	}
	q.Value = most
	q.About += fmt.Sprintf("; lowered to fit the limit of %d open files", files)
	l.store(q)
	return nil
}

// store lets a quota count instead of its default.
func (l *Limits) store(q Quota) {
	if l.set == nil {
		l.set = map[string]Quota{}
	}
	l.set[q.Name] = q
}
