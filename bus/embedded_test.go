package bus

import (
	"strconv"
	"testing"

	"maestro/internal/testing/logtest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestEmbeddedConforms(t *testing.T) {
	t.Parallel()
	for _, d := range []Durability{Always, Interval} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			logtest.Run(t, embeddedFixture(d))
		})
	}
}
