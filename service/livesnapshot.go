package service

import (
	"context"
	"strconv"

	"maestro/projections"
	"maestro/service/wire"
)

// beginSnapshot lists the views that a snapshot consists of.
func (r *LiveReader) beginSnapshot(ctx context.Context) (err error) {
	head := r.service.Views.list(func(key projections.ViewKey) { r.keys = append(r.keys, key) })
	r.snapshot = true
	r.at, err = r.service.positionAt(ctx, head)
	return err
}

// part encodes the next part of a snapshot. Its views may be newer than the beginning of the snapshot: the frames from
// there on follow, up to the position of the newest one.
func (r *LiveReader) part() error {
	l := r.service.Views
	l.mu.RLock()
	state, index := l.state, l.index
	if state == nil {
		l.mu.RUnlock()
		return errNotKept
	}
	r.ready = state.Head().Sequence
	var items []liveChange
	bytes := 0
	for len(r.keys) > 0 && bytes < livePart {
		item := liveView(state, index, r.keys[0], nil, r.service.TemplateIn)
		r.keys = r.keys[1:]
		items = append(items, item)
		bytes += len(item.whole)
	}
	l.mu.RUnlock()
	r.caller.chargeSteps(len(items))
	data := strconv.AppendUint([]byte(`{"seq":`), r.at.Sequence, 10)
	data = append(data, `,"items":[`...)
	shown := 0
	err := r.seeing(func(s *sight) {
		for i := range items {
			shows, left := r.shows(s, &items[i])
			if !shows || left || string(items[i].whole) == "null" {
				continue
			}
			if shown++; shown > 1 {
				data = append(data, ',')
			}
			data = r.appendChange(data, s, &items[i], false)
		}
	})
	if err != nil {
		return err
	}
	if shown > 0 {
		r.pending = append(r.pending, LiveMessage{Kind: wire.LiveKindSnapshot, Data: append(data, `]}`...)})
	}
	if len(r.keys) == 0 {
		if r.snapshot = false; r.ready <= r.at.Sequence {
			r.sayReady(r.at)
		}
	}
	return nil
}

// sayReady says that the snapshot is whole.
func (r *LiveReader) sayReady(at Position) {
	data := append(strconv.AppendUint([]byte(`{"seq":`), at.Sequence, 10), '}')
	r.pending = append(r.pending, LiveMessage{wire.LiveKindReady, at, data})
	r.ready = 0
}
