package backups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"maestro/bus"
	"maestro/events"
	"maestro/internal/files"
)

// writeBackup writes a backup and reads it back.
func writeBackup(ctx context.Context, log Log, f *os.File, o bus.BackupOptions) (partial bool, err error) {
	seal, err := log.Backup(ctx, f, o)
	if err != nil {
		return false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if _, err := readWhole(ctx, f, seal.Key); err != nil {
		return false, fmt.Errorf("read the backup back: %w", err)
	}
	return len(seal.Lost) > 0, nil
}

// HeadOf reads a backup and returns its head. It fails if the backup is damaged, or if another key signed it.
func HeadOf(ctx context.Context, path, signer string) (head events.Head, err error) {
	f, err := files.OpenNamed(path)
	if err != nil {
		return head, err
	}
	head, err = readWhole(ctx, f, signer)
	return head, errors.Join(err, f.Close())
}

func readWhole(ctx context.Context, in io.Reader, signer string) (events.Head, error) {
	contents, err := bus.ReadBackup(untilDone{ctx, in}, bus.BackupVisitor{})
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
	case contents.Unsealed != nil:
		err = contents.Unsealed
	case contents.Signer != signer:
		err = fmt.Errorf("%s signed it, not %s", cmp.Or(contents.Signer, "nobody"), signer)
	}
	return contents.Head, err
}

// untilDone is a reader that ends with its context.
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
