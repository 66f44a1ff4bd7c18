package service

import (
	"fmt"
	"math"
)

// Each connection takes an open file of the process, and so does each block of the store. A reserve beside the
// connections makes sure that neither an accept nor the store fails for lack of one.

const (
	// fewestFiles is the minimum number of open files of a server.
	fewestFiles = 128
	// reserveMost is the largest reserve. A smaller limit of open files is divided in half.
	reserveMost = 1024
	// ConnectionsQuota is the name of the quota that the limit of open files bounds.
	ConnectionsQuota = "server-connections"
)

// FitOpenFiles bounds the quota of connections by the number of files that the process may open: to half of them, or
// all but 1,024 if that is more. It lowers the default, and refuses a configured value above the bound. files is 0 if
// there is no limit.
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

// store sets a quota in place of its default.
func (l *Limits) store(q Quota) {
	if l.set == nil {
		l.set = map[string]Quota{}
	}
	l.set[q.Name] = q
}
