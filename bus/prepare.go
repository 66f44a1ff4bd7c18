package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// nats-server repairs what it opens: it cuts a block at the first unreadable record, discards what follows, and trusts
// its index. So a store is checked before the server opens it.
//
// A damaged log is never given to the server. A torn end, which was not acknowledged, is cut off here. A damaged stream
// of blobs or refusals is set aside and rebuilt from what can be read of it.

// prepared is the result of checking a stopped store.
type prepared struct {
	// damage is why the server must not open the store, or nil.
	damage error
	faults []Fault
	// rebuild lists the streams that are set aside.
	rebuild []string
	// blobsCut says that the end of the blobs is cut off, which may include the description of an intact blob.
	blobsCut bool
	// torn is where the log's end was cut off, nil if it was not.
	torn *Fault
	// tailOnly says that the finished blocks of the log were not read.
	tailOnly bool
	// streams holds what the server must recover, by stream name.
	streams map[string]heldStream
}

// prepare checks the store and makes it fit for the server. It fails with *UnreadError when a part of it cannot be
// read.
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
	p := prepared{streams: map[string]heldStream{}}
	for _, stored := range storedStreams {
		// The refusals and the long texts are always read: the server may read old blocks of theirs at its start, and
		// it cuts off a block what it finds damaged there.
		vouched := note.vouches(e.dir, stored.name)
		if vouched && stored.name == StreamName {
			last, fit, err := e.lastBlockFits(ctx, stored.name, stored.prefix, seen.witnessed)
			if ctx.Err() != nil {
				return prepared{}, ctx.Err()
			}
			if err == nil && fit { // otherwise the full scan says why
				p.streams[stored.name] = heldStream{last: last}
				continue
			}
		}
		if stored.name == StreamName && note == nil && !e.started { // a reopen reads what is on the disk
			last, fit, err := e.tailFits(ctx, seen.witnessed)
			if ctx.Err() != nil {
				return prepared{}, ctx.Err()
			}
			if err == nil && fit {
				p.streams[stored.name], p.tailOnly = heldStream{last: last}, true
				continue
			}
			if err != nil { // reading everything finds out whether the log is damaged
				e.logger.Warn("the end of the log does not fit its index: all of it is read", "why", err)
			}
		}
		scanned, index, err := e.readStream(ctx, stored)
		if scanned == nil {
			return prepared{}, fmt.Errorf("check the store: %w", err)
		}
		if failedToRead(err) {
			return prepared{}, unread(streamPath(e.dir, stored.name), err)
		}
		if err != nil { // it has a format that Maestro does not write
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
		p.streams[stored.name] = held(scanned, p.torn)
		if vouched && len(scanned.faults) == 0 {
			continue
		}
		if slices.Contains(p.rebuild, stored.name) { // it is set aside as it is
			continue
		}
		if err := e.replaceIndex(scanned, index); err != nil {
			return p, fmt.Errorf("replace the index of %s, which may be wrong: %w", stored.name, err)
		}
	}
	return p, e.setSideStreamsAside(&p)
}

// hasStreams reports whether the store has every stream.
func (e *embedded) hasStreams() bool {
	for _, s := range storedStreams {
		if _, err := disk.Stat(filepath.Join(streamPath(e.dir, s.name), metaName)); err != nil {
			return false
		}
	}
	return true
}

// readStream scans a stream, and collects the index of the log. It retries a failure: a transient error says nothing
// about the store.
func (e *embedded) readStream(
	ctx context.Context, stored storedStream,
) (scanned *scannedStream, index *logIndex, err error) {
	for range readTries {
		var each eachRecord
		if stored.name == StreamName {
			index = newLogIndex(e.dir)
			each = index.add
		}
		scanned, err = scanStream(ctx, e.dir, stored.name, stored.prefix, each)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return scanned, index, err
}

// held returns what the server must recover of a stream. torn is where the log was cut.
func held(s *scannedStream, torn *Fault) heldStream {
	h := heldStream{last: s.last, ends: map[int]int64{}}
	for _, f := range s.faults {
		if index, isBlock := blockIndex(filepath.Base(f.File)); isBlock && f.Tail {
			if end, found := h.ends[index]; !found || f.Offset < end {
				h.ends[index] = f.Offset
			}
		}
	}
	if s.name == StreamName && torn != nil {
		h.last = s.behind(*torn) - 1
		if torn.From > 0 {
			h.last = min(h.last, torn.From-1)
		}
	}
	return h
}

// lastBlockFits reports whether the last block of a stream holds only readable records, and the log's holds what was
// acknowledged. It returns the last sequence in it.
func (e *embedded) lastBlockFits(
	ctx context.Context, stream, prefix string, witnessed uint64,
) (last uint64, fit bool, err error) {
	messages := filepath.Join(streamPath(e.dir, stream), "msgs")
	blocks, err := blockFiles(messages)
	if err != nil || len(blocks) == 0 {
		return 0, stream != StreamName || witnessed == 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	newest := blocks[len(blocks)-1]
	b, _, err := scanBlock(e.dir, filepath.Join(messages, blockName(newest)), stream, prefix, newest, nil, nil)
	if err != nil || len(b.faults) > 0 {
		return 0, false, err
	}
	for i := range b.places {
		last = max(last, b.places[i].sequence)
		if stream == StreamName && i > 0 && b.places[i].sequence != b.places[i-1].sequence+1 {
			return 0, false, nil
		}
	}
	return last, stream != StreamName || len(b.places) > 0 && last >= witnessed, nil
}

// unreadable is the damage of a stream with a block in another format.
func (s *scannedStream) unreadable(why error) error {
	if s.name == StreamName {
		return &events.DamageError{Sequence: s.last + 1, Why: why.Error()}
	}
	return fmt.Errorf("%w: %s cannot be read: %w", events.ErrReadOnly, s.name, why)
}

// judgeLog determines whether the log is damaged, and cuts off a torn end.
func (e *embedded) judgeLog(p *prepared, log *scannedStream, seen witnesses) error {
	torn, err := log.judge(seen)
	if failedToRead(err) {
		return unread(log.dir, err)
	}
	if err != nil {
		p.damage, p.faults = err, log.faults
		return nil
	}
	if err := log.gone(e.dir, e.used); err != nil {
		p.damage = err
		return nil
	}
	if torn == nil {
		return nil
	}
	p.torn = torn
	e.logger.Warn("the last append was not finished when the server ended; what is whole of its beginning is kept",
		"where", torn.String())
	if !torn.Tail {
		if _, err := e.setAsideBlocks(log, *torn); err != nil {
			return err
		}
	}
	return e.cutAt(log, *torn)
}

// warnOfLoss logs what a stream of blobs or refusals lost when it needs no rebuild. awaited says that it must still be
// filled from what was set aside of it.
func (e *embedded) warnOfLoss(s *scannedStream, note *storeNote, awaited bool) {
	for _, f := range s.faults {
		e.logger.Warn("the end of a stream cannot be read and is cut off; see `maestro audit verify` for lost texts",
			"stream", s.name, "where", f.String())
	}
	if len(s.blocks) == 0 && awaited {
		return // an interrupted start set aside what the note names, and this start puts it back
	}
	for _, index := range goneBlocks(e.dir, s, note) {
		e.logger.Warn("a block is gone; see `maestro audit verify` for lost texts", "stream", s.name, "block",
			blockName(index))
	}
}

// goneBlocks lists the missing blocks that a stream must have, or had at its last clean stop.
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
	// A stream has a block from its creation on.
	if _, err := disk.Stat(streamPath(dir, s.name)); err == nil && len(s.blocks) == 0 {
		gone = append(gone, 1)
	}
	return gone
}

// sideDamage returns the faults that readable records follow: the server would cut those off.
func sideDamage(s *scannedStream) []Fault {
	var lasting []Fault
	for _, f := range s.faults {
		if !f.Tail {
			lasting = append(lasting, f)
		}
	}
	return lasting
}

// cutAt durably ends the log at a fault. What follows was set aside, if it can be read.
func (e *embedded) cutAt(log *scannedStream, torn Fault) error {
	path := filepath.Join(e.dir, torn.File)
	index, _ := blockIndex(filepath.Base(path))
	for i := len(log.blocks) - 1; i >= 0 && log.blocks[i].index > index; i-- {
		if err := disk.Remove(filepath.Join(filepath.Dir(path), blockName(log.blocks[i].index))); err != nil {
			return fmt.Errorf("cut the unfinished append off: %w", err)
		}
	}
	if err := errors.Join(disk.Truncate(path, torn.Offset), syncPath(path), syncPath(filepath.Dir(path))); err != nil {
		return fmt.Errorf("cut the unfinished append off: %w", full(err))
	}
	return nil
}

// setSideStreamsAside moves the streams that must be rebuilt out of the server's directory. What can be read of them is
// put back once the server runs; after an interrupted start, the next one continues from there.
func (e *embedded) setSideStreamsAside(p *prepared) error {
	pending, err := pendingRebuilds(e.dir)
	if err != nil { // every directory without a mark counts, listed or not
		pending = map[string][]string{}
	}
	for _, stream := range p.rebuild {
		path := streamPath(e.dir, stream)
		size, err := files.TreeSize(path)
		if err != nil {
			return err
		}
		if free, ok := freeBytes(e.dir); ok && free < size+2*reserve {
			p.damage = fmt.Errorf("%w: %s is damaged (%s), and there is no room to rebuild it: "+
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
		if err := disk.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return full(err)
		}
		if err := disk.Rename(path, target); err != nil {
			return fmt.Errorf("set the damaged stream %s aside: %w", stream, err)
		}
		if err := errors.Join(syncPath(filepath.Dir(path)), syncPath(filepath.Dir(target))); err != nil {
			return full(err)
		}
		pending[stream] = append(pending[stream], filepath.Base(aside))
		if err := writeRebuilds(e.dir, pending); err != nil {
			return err
		}
		e.logger.Error("a damaged stream is set aside and rebuilt from what can be read of it", "stream", stream,
			"aside", aside, "why", p.faults[0])
	}
	return nil
}
