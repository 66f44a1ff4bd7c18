package salvage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/files"
)

// source yields events in the order of their sequences.
type source struct {
	// name is its name in the report.
	name string
	next func() (events.Message, error, bool)
	stop func()

	// at is the next message, unless done.
	at   events.Message
	done bool
	// err is why it ended early.
	err error

	// head is the end of a backup that the home's key signed, and upTo the highest sequence that it is searched for;
	// see salvage.asks.
	head, upTo uint64

	// by is what proves the source's events where no witness does, and runs are its chains.
	by   proof
	runs []run
	// foreign says that the events may be anybody's: they come from a file that the home's key did not sign.
	foreign bool
	// wrong are the sequences of lines whose own hash is not that of their event.
	wrong []uint64
	// noted says that the report names the source as one whose chain leads elsewhere.
	noted bool
	// left says why the source's events were left out from leftFrom on, "" if they were not.
	left     string
	leftFrom uint64
}

// leave ends the use of a source before its next event.
func (s *source) leave(why string) {
	s.stop()
	s.done, s.left, s.leftFrom = true, why, s.at.Sequence
}

// newSource starts to read; read calls its function for each message until that fails.
func newSource(name string, read func(yield func(events.Message) error) error) *source {
	s := &source{name: name, upTo: math.MaxUint64}
	s.next, s.stop = iter.Pull2(func(yield func(events.Message, error) bool) {
		err := read(func(m events.Message) error {
			if !yield(m, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(events.Message{}, err)
		}
	})
	s.advance()
	return s
}

var errStopped = errors.New("no more is wanted")

func (s *source) advance() {
	m, err, ok := s.next()
	if !ok || err != nil {
		s.done, s.err = true, err
		return
	}
	s.at = m
}

// seek continues with the first message at or after a sequence.
func (s *source) seek(sequence uint64) {
	for !s.done && s.at.Sequence < sequence {
		s.advance()
	}
}

// file is a backup or an export that may have what is missing.
type file struct {
	path string
	// named files were named by the user; the home's key must have signed the others.
	named bool
}

// upTo returns the highest sequence that the file may hold. For a file that the user named there is no limit; an
// automatic backup has it in its name, or holds nothing if it is from before the home was created.
func (f file) upTo(before backups.Earlier) uint64 {
	made, ok := backups.Named(f.path)
	switch {
	case f.named || !ok:
		return math.MaxUint64
	case before.Has(made):
		return 0
	}
	return made.Sequence
}

// open opens the file as a source of events, and compares it with the witnesses.
func (f file) open(ctx context.Context, signer string, witnesses []witness) (*source, error) {
	chain := &chainReader{witnesses: witnesses}
	read, err := f.check(ctx, signer, chain)
	if err != nil {
		return nil, err
	}
	s := newSource(f.path, func(yield func(events.Message) error) error { return f.messages(ctx, yield) })
	s.runs, s.wrong = chain.runs, read.wrong
	var less *bus.MissingTextsError
	contents := read.contents
	sealed := contents.Unsealed == nil || errors.As(contents.Unsealed, &less)
	switch {
	case signer == "" || contents.Signer != signer || !sealed:
		s.foreign = true
	case f.named:
		s.by, s.head = bySignature, contents.Head.Sequence
	default:
		s.by, s.head = byOwnBackup, contents.Head.Sequence
	}
	return s, nil
}

// messages yields the events of the file.
func (f file) messages(ctx context.Context, yield func(events.Message) error) error {
	return f.with(ctx, func(in *bufio.Reader) error {
		exported, err := isExport(in)
		switch {
		case err != nil:
			return err
		case exported:
			return export.Read(in, yield)
		}
		_, err = bus.ReadBackup(in, bus.BackupVisitor{Message: yield})
		return err
	})
}

func isExport(in *bufio.Reader) (bool, error) {
	first, err := in.Peek(1)
	return err == nil && first[0] == '{', err
}

// refusedError says that nothing proves that an intact backup belongs to the home.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// foreignError says that the origin of a backup cannot be determined: the home's key is lost, and the user named no
// signer.
type foreignError struct {
	// signer is "" for an unsigned backup of an earlier version.
	signer string
}

func (e *foreignError) Error() string {
	if e.signer == "" {
		return "the home's key is lost, and the backup has no signature: name it with --with if it is this home's"
	}
	return fmt.Sprintf("the home's key is lost, and %s signed it: add --signer %[1]s if that is this home's key",
		e.signer)
}

// content is what check found in a file.
type content struct {
	contents bus.BackupContents // of a backup
	wrong    []uint64           // see source
}

// check reads the whole file once: a backup's signature is at its end. An export can be damaged in the middle.
func (f file) check(ctx context.Context, signer string, chain *chainReader) (read content, err error) {
	err = f.with(ctx, func(in *bufio.Reader) error {
		exported, err := isExport(in)
		switch {
		case err != nil:
			return err
		case exported:
			return read.lines(ctx, in, chain)
		}
		read.contents, err = bus.ReadBackup(in, bus.BackupVisitor{Message: func(m events.Message) error {
			chain.message(m)
			return nil
		}})
		contents := read.contents
		switch {
		case err != nil:
			return err
		case f.named:
		case contents.Unsealed != nil:
			return &refusedError{contents.Unsealed}
		case signer == "":
			return &refusedError{&foreignError{contents.Signer}}
		case contents.Signer != signer:
			return &refusedError{fmt.Errorf("%q signed it, and this home's key is %s", contents.Signer, signer)}
		}
		return nil
	})
	return read, err
}

// lines reads the lines of an export as far as they can be read; whoever uses its events meets the damage.
func (c *content) lines(ctx context.Context, in *bufio.Reader, chain *chainReader) error {
	_ = export.ReadLines(in, func(l export.Line) error {
		m := events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()}
		if after, ok := chain.message(m); ok && after.Hash != l.Hash {
			c.wrong = append(c.wrong, l.Sequence)
		}
		return nil
	})
	return ctx.Err()
}

// blobs calls found for every wanted long text in the file.
func (f file) blobs(ctx context.Context, wanted func(digest string) bool, found func(content []byte) error) error {
	return f.with(ctx, func(in *bufio.Reader) error {
		exported, err := isExport(in)
		switch {
		case err != nil:
			return err
		case exported:
			_, err = export.Texts(in, wanted, found)
			return err
		}
		_, err = bus.ReadBackup(in, bus.BackupVisitor{Blob: func(digest string, content []byte) error {
			if !wanted(digest) {
				return nil
			}
			return found(content)
		}})
		return err
	})
}

// with opens the file; reading fails once ctx ends.
func (f file) with(ctx context.Context, read func(*bufio.Reader) error) error {
	in, err := files.OpenNamed(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	err = read(bufio.NewReaderSize(untilDone{ctx, in}, 256<<10))
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s is empty or cut", f.path)
	}
	return err
}

// untilDone is a reader that fails when its context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it lives for one file
	in  io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}
