package engine

import (
	"errors"
	"testing"
	"testing/synctest"

	"maestro/events"
)

// Damage takes precedence over a request to be read-only, whichever comes first, and the first damage is kept.
func TestDamageCountsMoreThanTheWishToBeReadOnly(t *testing.T) {
	asked := &events.StoppedError{Why: "it was started with --read-only", Asked: true}
	first, second := &events.DamageError{Sequence: 2, Why: "first"}, &events.DamageError{Sequence: 3, Why: "second"}
	for what, reasons := range map[string][]error{
		"asked first":   {asked, first, second, asked},
		"damaged first": {first, asked, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.h.Close()
			w.h.StopWrites(reasons[0])
			if err := w.h.Health(); !errors.Is(err, reasons[0]) {
				t.Errorf("%s: health %v", what, err)
			}
			for _, why := range reasons[1:] {
				w.h.StopWrites(why)
			}
			if err := w.h.Health(); !errors.Is(err, first) || IsReadOnlyByRequest(err) {
				t.Errorf("%s: health %v", what, err)
			}
		})
	}
}
