package engine

import (
	"bytes"
	"context"
	"slices"

	"maestro/events"
	"maestro/projections"
)

// replaysMost is how many followers may read history at once. Each needs a state of its own.
const replaysMost = 4

// replay reproduces past commits by replaying the log.
type replay struct {
	log     Log
	state   *projections.State
	decoder events.Decoder
}

// openReplay folds the log up to a sequence, from the nearest snapshot before it. The caller must release its element
// of Handler.replays when it is done.
func (h *Handler) openReplay(ctx context.Context, after uint64) (*replay, error) {
	select {
	case h.replays <- struct{}{}:
	default:
		return nil, ErrReplays
	}
	state, _, err := h.stateAt(ctx, after)
	if err != nil {
		<-h.replays
		return nil, err
	}
	return &replay{log: h.config.Log, state: state}, nil
}

// stateAt returns the state after a committed sequence, and how many events it folded for that.
func (h *Handler) stateAt(ctx context.Context, sequence uint64) (state *projections.State, folded uint64, err error) {
	var head uint64
	h.View(func(s *projections.State) { head = s.Head().Sequence })
	if sequence > head {
		return nil, 0, &NotCommittedError{sequence, head}
	}
	from := &loading{
		Config: h.config,
		logger: h.logger,
		head:   head,
		later:  h.View,
	}
	state, err = from.snapshotBefore(ctx, sequence)
	if err != nil {
		return nil, 0, err
	}
	folded = sequence - state.Head().Sequence
	return state, folded, fold(ctx, h.config.Log, state, sequence)
}

// read appends the commits after the last one, up to a committed sequence.
func (r *replay) read(ctx context.Context, commits []Commit, to uint64) ([]Commit, error) {
	from := r.state.Head().Sequence + 1
	if from > to {
		return commits, nil
	}
	err := r.log.Read(ctx, from, to, func(m events.Message) error {
		event, err := r.decoder.Decode(m.Body)
		if err != nil {
			return undecodable(m.Sequence, err)
		}
		hash := events.BodyHash(m.Body)
		changes, err := r.state.Apply(m.Sequence, event, hash)
		if err != nil {
			return err
		}
		commits = append(commits, Commit{
			Sequence: m.Sequence,
			Body:     hash,
			Event:    event,
			Changes:  slices.Clone(changes),
			Text:     bytes.Clone(m.Body),
			size:     len(m.Body),
		})
		return nil
	})
	return commits, err
}
