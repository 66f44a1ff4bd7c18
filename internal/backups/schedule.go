package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"maestro/events"
)

const (
	// look is how often a schedule checks whether a backup is due: timers stop while a machine sleeps.
	look = 10 * time.Minute
	// firstLook is the delay of the first check after a start.
	firstLook = time.Minute
	// ahead is how far in the future the newest backup's time may be. Beyond that, a wrong clock wrote it.
	ahead = time.Hour
	// reserve is the room that a backup leaves on its disk.
	reserve = 256 << 20
)

// Config configures a schedule.
type Config struct {
	Dir Dir
	// Of are the directories that are backed up. No backup is made inside one of them; see CheckPlace.
	Of []string
	// Every is the interval between backups; 0 makes none. Keep is how many are kept.
	Every time.Duration
	Keep  int
	// Head returns the log's head; an error says why no backup can be made now.
	Head func() (events.Head, error)
	// Write writes a backup of the log up to a head and reads it back. It returns whether long texts are missing.
	Write func(ctx context.Context, f *os.File, head events.Head, at time.Time) (partial bool, err error)
	// Check reads a backup and fails if it is damaged, or if the home's key did not sign it.
	Check func(ctx context.Context, made Made) error
	// Holds reports whether the present log contains a backup's head. After a restore of an older backup it may not.
	Holds func(ctx context.Context, made Made) (bool, error)
	// Estimate returns the room that a first backup may need; for later ones the size of the one before counts.
	Estimate func() int64
	// Free returns the room on the disk of a directory; false if unknown.
	Free func(dir string) (uint64, bool)
	// Now is the clock, After its timer.
	Now    func() time.Time
	After  func(time.Duration) <-chan time.Time
	Logger *slog.Logger
}

// Schedule makes a home's automatic backups.
type Schedule struct {
	Config

	// Owned by Run: the newest backup that Check accepted; those that it refused; and when each of the others was last
	// read, as a count of reads.
	good  Made
	bad   map[string]bool
	read  map[Made]int
	reads int

	mu      sync.Mutex
	problem string
}

// New returns a schedule, which does nothing before its Run.
func New(config Config) *Schedule {
	return &Schedule{Config: config, bad: map[string]bool{}, read: map[Made]int{}}
}

// Problem says why the last backup was not made, or what it lacks; "" if all is well.
func (s *Schedule) Problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

func (s *Schedule) setProblem(problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = problem
}

// Run makes backups when they are due, until ctx ends. It reports a failed one and retries it.
func (s *Schedule) Run(ctx context.Context) {
	if s.Every == 0 {
		return
	}
	if err := s.Dir.clean(); err != nil {
		s.Logger.Warn("cannot remove an unfinished backup", "dir", s.Dir.path, "why", err)
	}
	wait := min(firstLook, s.Every)
	for {
		select {
		case <-s.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(look, s.Every)
		due, err := s.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.setProblem(joined(err.Error(), s.badOnes()))
			s.Logger.Warn("the automatic backup was not made; it is tried again", "dir", s.Dir.path, "why", err)
		case due > 0:
			wait = min(due, wait)
		}
	}
}

// once makes a backup if one is due. It returns the time until the next, 0 if unknown.
func (s *Schedule) once(ctx context.Context) (due time.Duration, err error) {
	head, err := s.Head()
	if err != nil {
		return 0, err
	}
	if err := CheckPlace(s.Dir.path, s.Of...); err != nil { // it may have become a link since the start
		return 0, fmt.Errorf("%w; move it away, or start the server with another --backup-dir", err)
	}
	list, err := s.Dir.List()
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(s.bad, func(path string, _ bool) bool {
		return !slices.ContainsFunc(list, func(made Made) bool { return made.Path == path })
	})
	maps.DeleteFunc(s.read, func(made Made, _ int) bool { return !slices.Contains(list, made) })
	now := s.Now()
	last, err := s.newest(ctx, list, now)
	if err == nil {
		err = s.readOne(ctx, list, last)
	}
	if err != nil {
		return 0, err
	}
	if head.Sequence == 0 || last.Of(head) { // there is nothing new to back up
		s.setProblem(s.lacking(last))
		return 0, nil
	}
	if left := last.Time.Add(s.Every).Sub(now); left > 0 {
		s.setProblem(s.lacking(last))
		return left, nil
	}
	if err := s.room(last); err != nil {
		return 0, err
	}
	made, err := s.Dir.create(head, now, func(f *os.File) (bool, error) { return s.Write(ctx, f, head, now) })
	if err != nil {
		return 0, err
	}
	s.good = made
	s.Logger.Info("made an automatic backup", "file", made.Path, "head", head.Sequence)
	if err := s.prune(ctx, made, now); err != nil && ctx.Err() == nil {
		s.Logger.Warn("old automatic backups cannot be removed", "dir", s.Dir.path, "why", err)
	}
	problem := s.lacking(made)
	if problem != "" {
		s.Logger.Warn(problem, "file", made.Path)
	}
	s.setProblem(problem)
	return s.Every, nil
}

// errElsewhere says that a backup holds events that the log lacks.
var errElsewhere = errors.New("the log does not hold the backup's head")

// prune removes unneeded backups once there is a new one, and notes which ones cannot be read.
func (s *Schedule) prune(ctx context.Context, made Made, now time.Time) error {
	return s.Dir.prune(made, s.Keep, now, func(old Made) error {
		if err := s.judge(ctx, old); err != nil { // including one whose head the log lacks
			return err
		}
		if holds, err := s.Holds(ctx, old); err != nil || !holds {
			return errors.Join(errElsewhere, err)
		}
		return nil
	})
}

// judge reads a backup, and notes whether it is bad. A context that ends is not evidence against a backup.
func (s *Schedule) judge(ctx context.Context, made Made) error {
	err := s.Check(ctx, made)
	if isCanceled(err) {
		return err
	}
	s.reads++
	s.read[made] = s.reads
	if err == nil {
		delete(s.bad, made.Path)
		return nil
	}
	if !s.bad[made.Path] {
		s.Logger.Warn("an automatic backup is damaged, or not signed by this home", "file", made.Path, "why", err)
	}
	s.bad[made.Path] = true
	return err
}

// readOne reads one of the backups besides the newest good one: one that was not read yet, or else the bad one that was
// read least recently, because it may be good again. So the bad ones are known after a few checks, and no check reads
// many.
func (s *Schedule) readOne(ctx context.Context, list []Made, last Made) error {
	var next *Made
	for _, made := range list {
		if made == last || s.read[made] > 0 && !s.bad[made.Path] {
			continue
		}
		if next == nil || s.read[made] < s.read[*next] {
			next = &made
		}
	}
	if next == nil {
		return nil
	}
	if err := s.judge(ctx, *next); isCanceled(err) {
		return err
	}
	return nil
}

func isCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lacking says what is wrong with the backups, given the newest one; "" if nothing is.
func (s *Schedule) lacking(last Made) string {
	partial := ""
	if last.Partial {
		partial = "the newest automatic backup lacks long texts that the log names"
	}
	return joined(partial, s.badOnes())
}

// mostNamed bounds how many bad backups are named.
const mostNamed = 7

// badOnes names the bad backups; "" if there are none.
func (s *Schedule) badOnes() string {
	if len(s.bad) == 0 {
		return ""
	}
	paths := slices.Sorted(maps.Keys(s.bad))
	more := ""
	if len(paths) > mostNamed {
		more = fmt.Sprintf(", and %d more", len(paths)-mostNamed)
		paths = paths[:mostNamed]
	}
	return fmt.Sprintf("automatic backups that are damaged or not signed by this home: %d (%s%s)",
		len(s.bad), strings.Join(paths, ", "), more)
}

// joined joins the non-empty parts.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// credible reports whether a correct clock could have written the backup's time.
func (m Made) credible(now time.Time) bool { return m.Time.Before(now.Add(ahead)) }

// newest returns the newest good backup whose time is credible: a file that cannot be restored does not delay a new
// one.
func (s *Schedule) newest(ctx context.Context, list []Made, now time.Time) (Made, error) {
	for _, made := range byWorth(list, now) {
		if !made.credible(now) {
			break
		}
		if made == s.good {
			return made, nil
		}
		if s.bad[made.Path] {
			continue
		}
		switch err := s.judge(ctx, made); {
		case isCanceled(err):
			return Made{}, err
		case err == nil:
			s.good = made
			return made, nil
		}
	}
	return Made{}, nil
}

// byWorth returns the backups newest first, and after them those that a wrong clock dated in the future.
func byWorth(list []Made, now time.Time) []Made {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Made) int {
		switch credible := a.credible(now); {
		case credible == b.credible(now):
			return 0
		case credible:
			return -1
		}
		return 1
	})
	return list
}

// errNoRoom: a backup would leave too little room on the disk.
var errNoRoom = errors.New("the disk has too little room for a backup")

func (s *Schedule) room(last Made) error {
	need := 2 * last.Bytes
	if need == 0 {
		need = s.Estimate()
	}
	if err := s.Dir.make(); err != nil {
		return err
	}
	free, known := s.Free(s.Dir.path)
	if !known || free >= uint64(need)+reserve { //nolint:gosec // sizes are positive
		return nil
	}
	return fmt.Errorf("%w: %d MiB are free on the disk of %s, %d are needed; make room, or name another place with "+
		"--backup-dir", errNoRoom, free>>20, s.Dir.path, (need+reserve)>>20)
}
