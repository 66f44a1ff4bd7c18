package engine

import (
	"context"
	"errors"

	"maestro/events"
)

// catchUp syncs the log, reads the events beyond the state, and applies them. Until it succeeds the Handler is in doubt
// and answers nothing.
func (h *Handler) catchUp(ctx context.Context) error {
	var head uint64
	err := h.askLog(func() (err error) {
		head, err = h.config.Log.Sync(ctx)
		return err
	})
	if errors.Is(err, events.ErrReadOnly) {
		h.setDamage(err)
		return err
	}
	if err != nil {
		h.setDoubt(err)
		return err
	}
	ground := h.committed.Head().Sequence
	if head < ground {
		damage := &events.DamageError{
			Sequence: head + 1,
			Why:      "the log ends here, and it was acknowledged up to " + h.committed.Head().String(),
		}
		h.setDamage(damage)
		return damage
	}
	var read []events.Message
	h.overlay.Drop()
	effects := h.noEffects()
	err = h.config.Log.Read(ctx, ground+1, head, func(m events.Message) error {
		event, err := h.decoder.Decode(m.Body)
		if err != nil {
			return undecodable(m.Sequence, err)
		}
		if err := newerRules(m.Sequence, event); err != nil {
			return err
		}
		hash := events.BodyHash(m.Body)
		changes, err := h.overlay.Apply(m.Sequence, event, hash)
		if err != nil {
			return err
		}
		h.note(effects, m.Sequence, m.Body, hash, event, changes)
		read = append(read, m)
		return nil
	})
	if err != nil {
		h.overlay.Drop()
		if errors.Is(err, events.ErrReadOnly) {
			h.setDamage(err)
		} else {
			h.setDoubt(err)
		}
		return err
	}
	h.lockState()
	h.overlay.Commit()
	if h.doubt != nil {
		h.logger.Info("the log takes writes again", "head", h.committed.Head().Sequence)
		h.doubt = nil
	}
	h.wakeWaiting(effects)
	h.unlockState()
	if len(read) > 0 {
		h.follow()
		h.afterCommit()
		h.takeImage(ground)
	}
	return nil
}
