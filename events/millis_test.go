package events

import (
	"testing"
	"time"
)

// What a time has beyond nanoseconds rounds the beginning of a range up, and nothing else does.
func TestParseFrom(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-29T12:17:58Z":                     "2026-11-29T12:17:58Z",
		"2026-11-29T12:17:58.062Z":                 "2026-11-29T12:17:58.062Z",
		"2026-11-29T12:17:58.062000001Z":           "2026-11-29T12:17:58.062000001Z",
		"2026-11-29T12:17:58.0620000001Z":          "2026-11-29T12:17:58.062000001Z",
		"2026-11-29T12:17:58,0620000001+01:00":     "2026-11-29T12:17:58.062000001+01:00",
		"2026-11-29T12:17:58.0620000000000Z":       "2026-11-29T12:17:58.062Z",
		"2026-11-29T23:59:59.99999999999999-01:00": "2026-11-30T00:00:00-01:00",
	} {
		got, err := ParseFrom(text)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %s, %v, want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
	if _, err := ParseFrom("yesterday"); err == nil {
		t.Error("a word is a time")
	}
}
