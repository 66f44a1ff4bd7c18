package bus

import (
	"context"
	"errors"
)

// Damage says why the store is read-only, or returns nil. Either the store was damaged when it was opened, damage was
// found since, or it was opened read-only. errors.Is(err, events.ErrReadOnly) holds for it. It lasts until the store is
// opened again.
func (b *Bus) Damage() error {
	if damage := b.damage.Load(); damage != nil {
		return *damage
	}
	return nil
}

// Faults lists what is wrong with the files of a store that was opened read-only.
func (b *Bus) Faults() []Fault {
	files := b.files.Load()
	if files == nil {
		return nil
	}
	return files.Faults()
}

// OnDamage registers tell to be called when damage is found while the log is open, from any goroutine; it is called at
// once if damage was found already. tell must not block, and may be called twice.
func (b *Bus) OnDamage(tell func(error)) {
	b.tell.Store(&tell)
	if err := b.Damage(); err != nil {
		tell(err)
	}
}

// damaged makes the log read-only from now on and notifies the owner, once. It returns the error.
func (b *Bus) damaged(err error) error {
	if b.damage.CompareAndSwap(nil, &err) {
		if b.embedded != nil {
			b.embedded.distrust()
		}
		tell := b.tell.Load()
		if tell == nil {
			b.options.Logger.Error("the store is damaged; nothing is written to it any more", "why", err)
			return err
		}
		(*tell)(err) // the owner logs it
	}
	return err
}

// openBusReadOnly opens a store without a server.
func openBusReadOnly(ctx context.Context, o Options) (*Bus, error) {
	files, err := OpenReadOnly(ctx, o)
	if err != nil {
		return nil, err
	}
	b := &Bus{options: o}
	b.files.Store(files)
	damage := errOpenedReadOnly
	if unread := files.unreadLog(); unread != nil {
		damage = unread
	} else if _, found := files.log.judge(o.witnesses()); found != nil {
		damage = found
	} else if gone := files.log.gone(o.Dir, o.Used); gone != nil {
		damage = gone
	}
	b.damage.Store(&damage)
	return b, nil
}

// openDamaged opens a damaged store without a server, and copies it to a directory beside it.
func (b *Bus) openDamaged(ctx context.Context, checked prepared) error {
	files, err := openFiles(ctx, b.embedded.dir)
	if err != nil {
		return err
	}
	if err := files.readAsides(ctx); err != nil {
		return errors.Join(err, files.Close())
	}
	b.files.Store(files)
	if len(checked.faults) > 1 { // the owner of the log reports the first
		for _, f := range checked.faults {
			b.options.Logger.Error("damaged", "fault", f.String())
		}
	}
	aside, err := b.embedded.copyDamaged(checked.faults)
	switch {
	case err != nil:
		b.options.Logger.Error("the damaged store could not be copied; make a copy before anything else", "why", err)
	case aside != "":
		b.options.Logger.Warn("a copy of the damaged store is beside it", "copy", aside)
	}
	b.embedded.distrust()
	b.damage.CompareAndSwap(nil, &checked.damage)
	return nil
}

// useFiles keeps the store open, and returns its files if there is no server.
func (b *Bus) useFiles() (files *ReadOnly, release func(), err error) {
	release, err = b.use()
	if err != nil {
		return nil, nil, err
	}
	return b.files.Load(), release, nil
}

func (b *Bus) closeFiles() error {
	files := b.files.Load()
	if files == nil {
		return nil
	}
	return files.Close()
}

// adoptBlobs recreates the descriptions of blobs that were cut off with the end of their stream.
func (b *Bus) adoptBlobs(ctx context.Context) error {
	files, err := openFiles(ctx, b.embedded.dir)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	if files.failed != nil { // the next start may be able to read it
		return files.failed
	}
	for _, digest := range files.adopted {
		content, readErr := files.Blob(ctx, digest)
		if readErr == nil {
			_, readErr = b.putBlob(ctx, content, bulkTimeout)
		}
		err = errors.Join(err, readErr)
	}
	return err
}
