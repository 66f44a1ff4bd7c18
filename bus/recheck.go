package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"maestro/events"
)

const (
	// recheckEvery is how often every finished block is reread.
	recheckEvery = 24 * time.Hour
	// recheckFirst is the pause between a start and the rereading.
	recheckFirst = time.Minute
	// recheckAhead is how far in the future the last reading may be. Beyond that, a wrong clock recorded it.
	recheckAhead = time.Hour
	// recheckPause is the pause between two blocks of 8 MB.
	recheckPause = 200 * time.Millisecond
)

// checkedName is the file that records how far the store was reread.
const checkedName = "checked.json"

// checkedNote is the content of checked.json.
type checkedNote struct {
	// Finished is when the last complete reading ended.
	Finished time.Time `json:"finished"`
	// Stream and Block are the position of the current reading: everything before was read.
	Stream string `json:"stream,omitempty"`
	Block  int    `json:"block,omitempty"`
}

// left returns the time until a reading is due; 0 while one is under way.
func (n checkedNote) left(now time.Time) time.Duration {
	if n.Stream != "" || n.Finished.After(now.Add(recheckAhead)) {
		return 0
	}
	return min(max(n.Finished.Add(recheckEvery).Sub(now), 0), recheckEvery)
}

// KeepChecked rereads the blocks of an embedded store once a day, slowly, until ctx ends. It continues where the last
// run of the server stopped. Damage to the log or the blobs makes the log read-only; see OnDamage. Damaged refusals are
// logged, and rebuilt at the next start. now and after are the clock and its timer.
func (b *Bus) KeepChecked(ctx context.Context, now func() time.Time, after func(time.Duration) <-chan time.Time) {
	if b.embedded == nil {
		return
	}
	wait := func(d time.Duration) error {
		select {
		case <-after(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for pause := recheckFirst; wait(pause) == nil && b.Damage() == nil; {
		note := loadChecked(b.embedded.dir)
		if left := note.left(now()); left > 0 {
			pause = left
			continue
		}
		err := b.readFailed(ctx, b.recheck(ctx, note, now, func() error { return wait(recheckPause) }))
		if err != nil && ctx.Err() == nil {
			b.options.Logger.Warn("the store's blocks could not be read again; trying again in an hour", "why", err)
		}
		pause = time.Hour
	}
}

// recheck reads the blocks after a position.
func (b *Bus) recheck(ctx context.Context, note checkedNote, now func() time.Time, pause func() error) error {
	begun := note.Stream == ""
	for _, s := range storedStreams {
		if !begun && s.name != note.Stream {
			continue
		}
		from := 0
		if !begun {
			from = note.Block
		}
		begun = true
		if err := b.recheckStream(ctx, &note, s.name, s.prefix, from, pause); err != nil {
			return err
		}
		if b.Damage() != nil {
			return nil
		}
	}
	return saveChecked(b.embedded.dir, checkedNote{Finished: now().UTC()})
}

func (b *Bus) recheckStream(
	ctx context.Context, note *checkedNote, stream, prefix string, from int, pause func() error,
) error {
	dir := b.embedded.held.through()
	messages := filepath.Join(streamPath(dir, stream), "msgs")
	blocks, err := blockFiles(messages)
	if err != nil {
		return err
	}
	last := uint64(0) // of the block before
	var buffer []byte
	for i, index := range blocks {
		newest := i == len(blocks)-1
		if index <= from && !newest {
			continue
		}
		if err := errors.Join(ctx.Err(), b.embedded.held.here()); err != nil {
			return err
		}
		path := filepath.Join(messages, blockName(index))
		var block scannedBlock
		block, buffer, err = scanBlock(dir, path, stream, prefix, index, buffer, nil)
		if err != nil {
			return err
		}
		if newest {
			block.forgiveEnd()
		}
		if stream == StreamName {
			last, err = block.follows(last)
		} else if len(block.faults) > 0 {
			err = &storeDamage{block.faults[0]}
		}
		switch {
		case err == nil:
		case stream == DeniedStream:
			b.options.Logger.Error(
				"recorded refusals are damaged; the next start rebuilds them from the rest", "why", err,
			)
		default:
			_ = b.damaged(err)
			return nil
		}
		if newest { // more will be added to it
			return nil
		}
		note.Stream, note.Block = stream, index
		if err := errors.Join(saveChecked(b.embedded.dir, *note), pause()); err != nil {
			return err
		}
	}
	return nil
}

// forgiveEnd drops a fault that reaches to the end: the record may be incomplete yet. The watch checks the last record.
func (s *scannedBlock) forgiveEnd() {
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool { return f.Length > 0 && f.Offset+f.Length == s.size })
}

// follows checks that a block of the log has no fault and that its messages follow each other, and the last one before
// it (0 if unknown). It returns the block's last sequence.
func (s *scannedBlock) follows(last uint64) (uint64, error) {
	for _, p := range s.places {
		if last != 0 && p.sequence != last+1 {
			return last, &events.DamageError{
				Sequence: last + 1,
				Why:      fmt.Sprintf("in the block %s, message %d follows %d", blockName(s.index), p.sequence, last),
			}
		}
		last = p.sequence
	}
	if len(s.faults) > 0 {
		f := s.faults[0]
		before := uint64(0)
		for _, p := range s.places {
			if p.offset < f.Offset {
				before = p.sequence
			}
		}
		return last, &events.DamageError{Sequence: before + 1, Why: f.String()}
	}
	return last, nil
}

// storeDamage is damage beside the log. errors.Is(err, events.ErrReadOnly) holds for it.
type storeDamage struct{ fault Fault }

func (e *storeDamage) Error() string { return "the store is damaged: " + e.fault.String() }

func (e *storeDamage) Is(target error) bool { return target == events.ErrReadOnly }

// Advice says what to do: the log is intact, and a restart rebuilds the rest.
func (e *storeDamage) Advice() string {
	return "restart the server: it keeps what can be read; then see `maestro audit verify` for long texts that are lost"
}

func loadChecked(dir string) checkedNote {
	content, err := readFile(filepath.Join(dir, checkedName), maxMeta)
	var note checkedNote
	if err != nil || json.Unmarshal(content, &note) != nil {
		return checkedNote{}
	}
	return note
}

// recheckSoon makes a reading due that is not under way.
func recheckSoon(dir string) error {
	if loadChecked(dir).Stream != "" {
		return nil
	}
	return saveChecked(dir, checkedNote{})
}

func saveChecked(dir string, note checkedNote) error {
	content, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, checkedName), content, []byte("\n"))
}
