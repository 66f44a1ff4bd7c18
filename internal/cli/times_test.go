package cli

import (
	"encoding/json"
	"testing"
	"time"

	"maestro/events"
)

// TestJSONTimesAreText: in JSON output every time is in RFC 3339, at any depth, and nothing else changes.
func TestJSONTimesAreText(t *testing.T) {
	type inner struct {
		At   events.Millis  `json:"at"`
		None *events.Millis `json:"none"`
		Left events.Millis  `json:"left,omitempty"`
	}
	type Outer struct {
		inner
		Number   int64                    `json:"number"`
		At       *events.Millis           `json:"when"`
		Many     []any                    `json:"many"`
		Named    map[string]events.Millis `json:"named"`
		Ready    json.RawMessage          `json:"ready"`
		Clock    time.Time                `json:"clock"`
		Untagged events.Millis
		Hidden   events.Millis `json:"-"`
	}
	at := events.Millis(1767225600123)
	value := Outer{
		inner:    inner{At: at},
		Number:   1767225600123,
		At:       &at,
		Many:     []any{at, &inner{At: at}, 1767225600123, "1767225600123", nil},
		Named:    map[string]events.Millis{"a\u2028b": at},
		Ready:    json.RawMessage(`{"at":1767225600123}`),
		Clock:    at.Time().Add(456 * time.Nanosecond),
		Untagged: at,
	}
	const said = `"2026-01-01T00:00:00.123Z"`
	const first = `{"at":` + said + `,"none":null,"number":1767225600123,"when":` + said
	const many = `,"many":[` + said + `,{"at":` + said + `,"none":null},1767225600123,"1767225600123",null]`
	const others = `,"named":{"a\u2028b":` + said + `},"ready":{"at":1767225600123},"clock":` + said
	const want = first + many + others + `,"Untagged":` + said + `}`
	if got := string((&Printer{}).encode(value)); got != want {
		t.Errorf("it is\n%s\nexpected\n%s", got, want)
	}
}
