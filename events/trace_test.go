package events_test

import (
	"strings"
	"testing"

	"maestro/events"
)

func TestTraceParent(t *testing.T) {
	const (
		trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
		parent = "00f067aa0ba902b7"
		good   = "00-" + trace + "-" + parent + "-01"
	)
	for text, want := range map[string]string{
		good:                                 good,
		"00-" + trace + "-" + parent + "-00": "00-" + trace + "-" + parent + "-00",
		"":                                   "",
		"garbage":                            "",
		good + "-":                           "",
		good + "-more":                       "",
		good + " ":                           "",
		strings.ToUpper(good):                "",
		"ff" + good[2:]:                      "",
		"0g" + good[2:]:                      "",
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":  "",
		"00_" + good[3:]:                      "",
		"cc" + good[2:]:                       good,
		"cc" + good[2:] + "-what-comes-later": good,
		"cc" + good[2:] + ".what-comes-later": "",
		"01-" + trace + "-" + parent + "-fe":  "00-" + trace + "-" + parent + "-00",
		"01-" + trace + "-" + parent + "-0b":  good,
		"01-" + trace + "-" + parent + "-0a":  "00-" + trace + "-" + parent + "-00",
	} {
		if got := events.TraceParent(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
