package prompt

import (
	"runtime"
	"strings"
	"testing"
)

// A step of many lines is assembled once: reading it takes memory in proportion to its length.
func TestLongStepsAreReadOnce(t *testing.T) {
	bytes := func(lines int) uint64 {
		text := "[x]\n- begin\n" + strings.Repeat("  and so on\n", lines)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := parseTemplate(text, []string{"x"}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := bytes(500), bytes(16*500); many > 3*16*few {
		t.Errorf("500 lines take %d bytes, 8,000 lines take %d", few, many)
	}
}
