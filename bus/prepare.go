package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"maestro/events"
	"maestro/internal/files"
)

// nats-server repairs what it opens: it cuts a block at the first record that it cannot read, forgets what follows, and
// believes its index. So a store is checked before the server may have it.
//
// A log that is damaged is never given to the server. A torn end, which nobody was told is stored, is cut off here. A
// damaged stream of blobs or refusals is set aside and made again from what can be read of it.

// prepared is what a check of a stopped store came to.
type prepared struct {
	// damage is why the server must not open the store, if so.
	damage error
	faults []Fault
	// rebuild are the streams that are set aside.
	rebuild []string
	// blobsCut says that the end of the blobs is cut off, and with it may be the description of a blob that is whole.
	blobsCut bool
}

// prepare checks the store and makes it fit to be opened by the server.
func (e *embedded) prepare(ctx context.Context, seen witnesses, note *storeNote) (prepared, error) {
	e.removeUnfinished()
	if err := e.separate(); err != nil {
		return prepared{}, err
	}
	if err := e.clearRemade(); err != nil {
		return prepared{}, err
	}
	if err := e.repairMeta(ctx); err != nil {
		return prepared{}, err
	}
	pending, _, err := awaited(e.dir)
	if err != nil {
		return prepared{}, fmt.Errorf("check the store: %w", err)
	}
	if note != nil {
		seen.witnessed = max(seen.witnessed, note.Streams[StreamName].Last)
	}
	var p prepared
	for _, stored := range storedStreams {
		// The refusals are always read: they are few, and the server reads them all when it is asked for them.
		vouched := note.vouches(e.dir, stored.name)
		if vouched && stored.name != DeniedStream {
			fit, err := e.lastBlockFits(ctx, stored.name, stored.prefix, seen.witnessed)
			if ctx.Err() != nil {
				return prepared{}, ctx.Err()
			}
			if err == nil && fit { // else the whole scan says why
				continue
			}
		}
		scanned, err := scanStream(ctx, e.dir, stored.name, stored.prefix, nil)
		if scanned == nil {
			return prepared{}, fmt.Errorf("check the store: %w", err)
		}
		if err != nil { // the server must not have what cannot be read
			p.damage = scanned.unreadable(err)
			p.faults = append(scanned.faults, Fault{
				Stream: stored.name, File: streamPath("", stored.name), Why: err.Error(),
			})
			return p, nil
		}
		if stored.name == StreamName {
			if err := e.judgeLog(&p, scanned, seen); err != nil || p.damage != nil {
				return p, err
			}
		} else if lasting := sideDamage(scanned); len(lasting) > 0 {
			p.faults = append(p.faults, lasting...)
			p.rebuild = append(p.rebuild, stored.name)
		} else {
			e.warnOfLoss(scanned, note, len(pending[stored.name]) > 0)
			p.blobsCut = p.blobsCut || stored.name == BlobStream && len(scanned.faults) > 0
		}
		if vouched && len(scanned.faults) == 0 {
			continue
		}
		if slices.Contains(p.rebuild, stored.name) { // it is set aside as it is
			continue
		}
		index := filepath.Join(streamPath(e.dir, stored.name), "msgs", indexName)
		if err := ignoreMissing(os.Remove(index)); err != nil {
			return p, fmt.Errorf("remove the index %s, which may be wrong: %w", index, err)
		}
	}
	return p, e.setSideStreamsAside(&p)
}

// hasStreams reports whether every stream of the store is there.
func (e *embedded) hasStreams() bool {
	for _, s := range storedStreams {
		if _, err := os.Stat(filepath.Join(streamPath(e.dir, s.name), metaName)); err != nil {
			return false
		}
	}
	return true
}

// lastBlockFits reports whether the last block of a stream holds nothing but records that can be read, and the log
// what was acknowledged.
func (e *embedded) lastBlockFits(ctx context.Context, stream, prefix string, witnessed uint64) (bool, error) {
	messages := filepath.Join(streamPath(e.dir, stream), "msgs")
	blocks, err := blockFiles(messages)
	if err != nil || len(blocks) == 0 {
		return stream != StreamName || witnessed == 0, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	last := blocks[len(blocks)-1]
	b, _, err := scanBlock(e.dir, filepath.Join(messages, blockName(last)), stream, prefix, last, nil, nil)
	if err != nil || len(b.faults) > 0 {
		return false, err
	}
	if stream != StreamName {
		return true, nil
	}
	for i := 1; i < len(b.places); i++ {
		if b.places[i].sequence != b.places[i-1].sequence+1 {
			return false, nil
		}
	}
	return len(b.places) > 0 && b.places[len(b.places)-1].sequence >= witnessed, nil
}

// unreadable is the damage of a stream that could not be read to its end.
func (s *scannedStream) unreadable(why error) error {
	if s.name == StreamName {
		return &events.DamageError{Sequence: s.last + 1, Why: why.Error()}
	}
	return fmt.Errorf("%w: %s cannot be read: %w", events.ErrReadOnly, s.name, why)
}

// judgeLog says whether the log is damaged, and cuts a torn end off.
func (e *embedded) judgeLog(p *prepared, log *scannedStream, seen witnesses) error {
	torn, damage := log.judge(seen)
	if damage != nil {
		p.damage, p.faults = damage, log.faults
		return nil
	}
	if torn == nil {
		return nil
	}
	e.logger.Warn("the last append was not finished when the server ended; what is whole of its beginning is kept",
		"where", torn.String())
	if !torn.Tail {
		if _, err := e.setAsideBlocks(log, *torn); err != nil {
			return err
		}
	}
	return e.cutAt(log, *torn)
}

// warnOfLoss says what a stream of blobs or refusals lost that leaves nothing to make again. awaited says that it must
// still be filled from what was set aside of it.
func (e *embedded) warnOfLoss(s *scannedStream, note *storeNote, awaited bool) {
	for _, f := range s.faults {
		e.logger.Warn("the end of a stream cannot be read and is cut off; see `maestro audit verify` for lost texts",
			"stream", s.name, "where", f.String())
	}
	if len(s.blocks) == 0 && awaited {
		return // what the note names was set aside by a start that was interrupted, and is put back by this one
	}
	for _, index := range goneBlocks(e.dir, s, note) {
		e.logger.Warn("a block is gone; see `maestro audit verify` for lost texts", "stream", s.name, "block",
			blockName(index))
	}
}

// goneBlocks lists the blocks that a stream must have, or had at its last clean stop, and has no more.
func goneBlocks(dir string, s *scannedStream, note *storeNote) []int {
	has := func(index int) bool {
		return slices.ContainsFunc(s.blocks, func(b scannedBlock) bool { return b.index == index })
	}
	var gone []int
	if note != nil && len(note.Streams[s.name].Blocks) > 0 {
		for _, b := range note.Streams[s.name].Blocks {
			if !has(b.Index) {
				gone = append(gone, b.Index)
			}
		}
		return gone
	}
	// A stream has a block from its first moment on.
	if _, err := os.Stat(streamPath(dir, s.name)); err == nil && len(s.blocks) == 0 {
		gone = append(gone, 1)
	}
	return gone
}

// sideDamage gives the faults behind which something can be read: the server would cut that off.
func sideDamage(s *scannedStream) []Fault {
	var lasting []Fault
	for _, f := range s.faults {
		if !f.Tail {
			lasting = append(lasting, f)
		}
	}
	return lasting
}

// cutAt ends the log at a fault, durably. What follows was set aside, if it can be read.
func (e *embedded) cutAt(log *scannedStream, torn Fault) error {
	path := filepath.Join(e.dir, torn.File)
	index, _ := blockIndex(filepath.Base(path))
	for i := len(log.blocks) - 1; i >= 0 && log.blocks[i].index > index; i-- {
		if err := os.Remove(filepath.Join(filepath.Dir(path), blockName(log.blocks[i].index))); err != nil {
			return fmt.Errorf("cut the unfinished append off: %w", err)
		}
	}
	if err := errors.Join(os.Truncate(path, torn.Offset), syncPath(path), syncPath(filepath.Dir(path))); err != nil {
		return fmt.Errorf("cut the unfinished append off: %w", full(err))
	}
	return nil
}

// setSideStreamsAside moves the streams that must be made again out of the server's sight. What can be read of them is
// put back once the server runs; a start that is interrupted goes on from there.
func (e *embedded) setSideStreamsAside(p *prepared) error {
	pending, err := pendingRebuilds(e.dir)
	if err != nil { // every directory that has no mark counts, listed or not
		pending = map[string][]string{}
	}
	for _, stream := range p.rebuild {
		path := streamPath(e.dir, stream)
		size, err := files.TreeSize(path)
		if err != nil {
			return err
		}
		if free, ok := freeBytes(e.dir); ok && free < size+2*reserve {
			p.damage = fmt.Errorf("%w: %s is damaged (%s), and there is no room to make it again: "+
				"make room, then restart the server",
				events.ErrReadOnly, stream, p.faults[0])
			return nil
		}
		aside, err := e.newAside(stream)
		if err != nil {
			return err
		}
		if err := writeFaults(aside, p.faults); err != nil {
			return err
		}
		target := streamPath(aside, stream)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return full(err)
		}
		if err := os.Rename(path, target); err != nil {
			return fmt.Errorf("set the damaged stream %s aside: %w", stream, err)
		}
		if err := errors.Join(syncPath(filepath.Dir(path)), syncPath(filepath.Dir(target))); err != nil {
			return full(err)
		}
		pending[stream] = append(pending[stream], filepath.Base(aside))
		if err := writeRebuilds(e.dir, pending); err != nil {
			return err
		}
		e.logger.Error("a damaged stream is set aside and made again from what can be read of it", "stream", stream,
			"aside", aside, "why", p.faults[0])
	}
	return nil
}
