package service

import (
	"encoding/json"
	"testing"
)

// A text is found in a manifest however JSON escapes it, and only where it is.
func TestHolds(t *testing.T) {
	const text = "first <line>\nsecond \"line\" – \u2028end"
	manifest := func(value any) []byte {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		manifest []byte
		holds    bool
	}{
		{manifest(map[string]any{"tasks": []any{map[string]any{"description": "before " + text + " after"}}}), true},
		{manifest(map[string]any{"tasks": []any{map[string]any{"description": text[1:]}}}), false},
		{manifest(map[string]any{"tasks": nil, "n": 1}), false},
		{[]byte("no JSON: " + text), true},
	} {
		if got := holds(c.manifest, text); got != c.holds {
			t.Errorf("%s: %t", c.manifest, got)
		}
	}
}
