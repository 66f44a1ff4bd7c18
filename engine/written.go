package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"maestro/events"
)

// unlike says what a stored event has that no server wrote, "" if nothing. The order of its fields and empty ones do
// not matter: an earlier version may have written them.
func (v *Verifier) unlike(event *events.Event, body []byte) string {
	if event.Time.Year() > events.LastYear {
		return fmt.Sprintf("its time %s is outside the range that a server writes",
			event.Time.UTC().Format(time.RFC3339))
	}
	written, err := event.Append(v.written[:0])
	if err != nil {
		return err.Error()
	}
	if v.written = written; bytes.Equal(written, body) {
		return ""
	}
	var stored, known map[string]any
	if json.Unmarshal(body, &stored) != nil || json.Unmarshal(written, &known) != nil {
		return ""
	}
	for _, name := range []string{"time", "occurredat"} {
		if text, there := stored[name]; there && text != known[name] {
			return fmt.Sprintf("its %s is written as %q, but a server writes %q", name, text, known[name])
		}
	}
	if field := unknownField(stored, known); field != "" {
		return fmt.Sprintf("it has the field %q, which this type of event does not have", field)
	}
	return ""
}

// unknownField returns the path of a field that only the stored value has, and that is not empty; "" if there is none.
func unknownField(stored, known any) string {
	switch stored := stored.(type) {
	case map[string]any:
		known, _ := known.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			value, there := known[name]
			if !there && !isEmpty(stored[name]) {
				return name
			}
			if below := unknownField(stored[name], value); there && below != "" {
				return name + "." + below
			}
		}
	case []any:
		known, _ := known.([]any)
		for i := range min(len(stored), len(known)) {
			if below := unknownField(stored[i], known[i]); below != "" {
				return below
			}
		}
	}
	return ""
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return value == nil || value == "" || value == false || value == 0.0
}
