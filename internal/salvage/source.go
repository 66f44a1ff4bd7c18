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

	// head is the end of a backup, and upTo the highest sequence that it is searched for; see salvage.asks.
	head, upTo uint64
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
	// trusted files were named by the user; the home's key must have signed the others.
	trusted bool
}

// upTo returns the highest sequence that the file may hold. For a file that the user named there is no limit; an
// automatic backup has it in its name, or holds nothing if it is from before the home was created.
func (f file) upTo(before backups.Earlier) uint64 {
	made, ok := backups.Named(f.path)
	switch {
	case f.trusted || !ok:
		return math.MaxUint64
	case before.Has(made):
		return 0
	}
	return made.Sequence
}

// open opens the file as a source of events, and reports whether the home's key signed it.
func (f file) open(ctx context.Context, signer string) (s *source, signed bool, err error) {
	exported, contents, err := f.check(ctx, signer)
	if err != nil {
		return nil, false, err
	}
	s = newSource(f.path, func(yield func(events.Message) error) error {
		return f.with(ctx, func(in *bufio.Reader) error {
			if exported {
				return export.Read(in, yield)
			}
			_, err := bus.ReadBackup(in, bus.BackupVisitor{Message: yield})
			return err
		})
	})
	s.head = contents.Head.Sequence
	return s, signer != "" && contents.Signer == signer && contents.Unsealed == nil, nil
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

// check reads the whole file once: a backup's signature is at its end.
func (f file) check(ctx context.Context, signer string) (exported bool, contents bus.BackupContents, err error) {
	err = f.with(ctx, func(in *bufio.Reader) error {
		first, err := in.Peek(1)
		if err != nil {
			return err
		}
		if exported = first[0] == '{'; exported {
			return nil
		}
		contents, err = bus.ReadBackup(in, bus.BackupVisitor{})
		switch {
		case err != nil:
			return err
		case f.trusted:
		case contents.Unsealed != nil:
			return &refusedError{contents.Unsealed}
		case signer == "":
			return &refusedError{&foreignError{contents.Signer}}
		case contents.Signer != signer:
			return &refusedError{fmt.Errorf("%q signed it, and this home's key is %s", contents.Signer, signer)}
		}
		return nil
	})
	return exported, contents, err
}

// blobs calls found for every wanted long text in the file.
func (f file) blobs(ctx context.Context, wanted func(digest string) bool, found func(content []byte) error) error {
	return f.with(ctx, func(in *bufio.Reader) error {
		if first, err := in.Peek(1); err != nil || first[0] == '{' {
			return err // an export has none
		}
		_, err := bus.ReadBackup(in, bus.BackupVisitor{Blob: func(digest string, content []byte) error {
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
