package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// headFilePeriod bounds how far the head file may lag while the log grows.
const headFilePeriod = 100 * time.Millisecond

// headFileSay is how often a failure to write is logged again.
const headFileSay = time.Minute

// headFileLook is how often the file is compared with what was written.
const headFileLook = time.Second

// DamagedSuffix is appended to the name of a head file that cannot be read, or was changed, to preserve it.
const DamagedSuffix = ".damaged"

// HeadFile is a witness of the log's head, stored outside the log: a log that ends before it, or differs there, was cut
// or replaced. It is never ahead of what is durable, except when the store's files were taken away.
type HeadFile struct {
	path   string
	firm   func() error // syncs what is acknowledged
	logger *slog.Logger
	// allowed are checked before each write.
	allowed []func() error

	mu     sync.Mutex
	newest events.Head
	failed error // why the last attempt to write the head failed

	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once

	// Owned by run until stopped is closed.
	written events.Head
	err     error       // of the last write
	holds   events.Head // the head that the file must hold; zero if unknown
	tried   events.Head // the last head written: the file may hold it although the write failed
	said    time.Time   // the time when a failure was last logged; zero while writes succeed
}

// HeadFile starts to maintain the witness at path. An existing file stays until the first Record. It writes only if
// every one of allowed permits it. Close it before the bus.
func (b *Bus) HeadFile(path string, allowed ...func() error) *HeadFile {
	h := &HeadFile{
		path:    path,
		firm:    b.firmOrLost,
		allowed: allowed,
		logger:  b.options.Logger,
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	if head, err := LoadHeadFile(path); err == nil { // otherwise whoever opens the log reports the error
		h.holds = head
	}
	go h.run()
	return h
}

// Firm syncs everything acknowledged before the call. What is recorded outside the log (the head file, a snapshot) must
// not be ahead of the log after a power cut.
func (b *Bus) Firm() error {
	if b.embedded == nil || b.files.Load() != nil || b.options.Durability == Always {
		return nil
	}
	err := b.blocks.sync()
	if err != nil {
		b.doubtful.Store(true)
	}
	return b.failed(context.Background(), err)
}

// firmOrLost is Firm, but also permits the write when the store's files are no longer the server's: the events that
// they lack were acknowledged, and only the witness shows that.
func (b *Bus) firmOrLost() error {
	err := b.Firm()
	if err != nil && errors.Is(b.Here(), events.ErrReadOnly) {
		return nil
	}
	return err
}

// Record notes the head after a commit. It does not wait for the disk.
func (h *HeadFile) Record(head events.Head) {
	h.mu.Lock()
	h.newest = head
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// Close writes the newest head and stops. It returns the error of the last write, if any. A second Close returns the
// same.
func (h *HeadFile) Close() error {
	h.once.Do(func() { close(h.stop) })
	<-h.stopped
	return h.err
}

// run writes at the first change, then at most once in a period, and at the end.
func (h *HeadFile) run() {
	defer close(h.stopped)
	timer := time.NewTimer(headFilePeriod)
	defer timer.Stop()
	look := time.NewTicker(headFileLook)
	defer look.Stop()
	for {
		select {
		case <-h.wake:
		case <-look.C:
			h.look()
			continue
		case <-h.stop:
			h.look()
			h.flush()
			return
		}
		h.flush()
		timer.Reset(headFilePeriod)
		select {
		case <-timer.C:
		case <-h.stop:
			h.look()
			h.flush()
			return
		}
	}
}

// look rewrites the file if somebody else deleted or changed it: otherwise the next start would have no witness, or a
// wrong one.
func (h *HeadFile) look() {
	if h.holds.Sequence == 0 {
		return
	}
	there, err := LoadHeadFile(h.path)
	if err == nil && (there == h.holds || there == h.tried) {
		if h.err == nil { // otherwise a newer head is due
			h.note(nil)
		}
		return
	}
	if err != nil && !h.tells(err) { // the error does not describe the file's content
		h.note(err)
		return
	}
	if err := h.mayWrite(); err != nil {
		h.notWrittenAgain(err)
		return
	}
	gone, shown := err == nil && there.Sequence == 0, disk.Shown(h.path)
	if err := h.writeAgain(gone); err != nil {
		h.notWrittenAgain(err)
		return
	}
	if gone {
		h.logger.Warn("the head file was deleted while the server was running; it is written again", "path", shown,
			"next", "nothing")
	} else {
		h.logger.Warn("the head file was changed while the server was running; it is written again", "path", shown,
			"next", "what was there is "+shown+DamagedSuffix+" now: check it, then delete it")
	}
	h.note(nil)
}

// writeAgain writes the head that the file must hold. It first renames the existing file, durably.
func (h *HeadFile) writeAgain(gone bool) error {
	if gone {
		return h.write(h.holds)
	}
	content, err := headContent(h.holds)
	if err != nil {
		return err
	}
	root, err := disk.OpenRoot(filepath.Dir(h.path))
	if err != nil {
		return err
	}
	name := filepath.Base(h.path)
	aside := name + DamagedSuffix
	if info, err := root.Lstat(aside); err == nil && !info.IsDir() {
		if err := root.Remove(aside); err != nil {
			return errors.Join(err, root.Close())
		}
	}
	err = files.Replace(root, "."+name+"-"+rand.Text(), name, aside, content, []byte("\n"))
	return errors.Join(full(err), root.Close(), syncPath(filepath.Dir(h.path)))
}

func (h *HeadFile) notWrittenAgain(err error) {
	h.note(err)
	if errors.Is(err, events.ErrReadOnly) { // permanently
		h.holds = events.Head{}
	}
}

// note keeps the result of a write, and logs failures from time to time.
func (h *HeadFile) note(err error) {
	stopped := errors.Is(err, events.ErrReadOnly) // reported elsewhere
	h.mu.Lock()
	h.failed = err
	if stopped {
		h.failed = nil
	}
	h.mu.Unlock()
	switch {
	case stopped:
		h.logger.Error("the head file is no longer written", "path", disk.Shown(h.path), "error",
			disk.Shown(err.Error()))
	case err != nil && time.Since(h.said) >= headFileSay:
		h.logger.Error("the head file cannot be written; the server keeps trying", "path", disk.Shown(h.path), "error",
			disk.Shown(err.Error()))
		h.said = time.Now()
	case err == nil && !h.said.IsZero():
		h.logger.Info("the head file is written again", "path", disk.Shown(h.path))
		h.said = time.Time{}
	}
}

// Failed returns why the file does not hold the newest head, or nil.
func (h *HeadFile) Failed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// flush writes the newest head if it is not written yet. After a failure the head is due again at once.
func (h *HeadFile) flush() {
	h.mu.Lock()
	head := h.newest
	h.mu.Unlock()
	if head == h.written {
		return
	}
	h.tried = head
	h.err = h.write(head)
	h.note(h.err)
	switch {
	case h.err == nil:
		h.written, h.holds = head, head
		return
	case errors.Is(h.err, events.ErrReadOnly): // permanently
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// mayWrite fails when nothing may be written, or when what was acknowledged cannot be synced.
func (h *HeadFile) mayWrite() error {
	for _, allowed := range h.allowed {
		if err := allowed(); err != nil {
			return err
		}
	}
	return h.firm()
}

func (h *HeadFile) write(head events.Head) error {
	if err := h.mayWrite(); err != nil {
		return err
	}
	content, err := headContent(head)
	if err != nil {
		return err
	}
	return writeAtomically(h.path, content, []byte("\n"))
}

// tells reports whether an error of LoadHeadFile describes the content of the file. Any other error may be transient.
func (h *HeadFile) tells(err error) bool {
	var damage *headDamage
	return errors.As(err, &damage) || errors.Is(err, errNoFile) || errors.Is(err, errTooLong) ||
		files.Gone(err) && isLink(h.path)
}
