package safetext

import "testing"

// The fast path accepts only text that the check of each character would leave unchanged.
func TestPlainTextActsNowhere(t *testing.T) {
	for c := range rune(256) {
		if plain(string(c)) && (Acts(c) || c > '~') {
			t.Errorf("%q is taken for plain", c)
		}
	}
}
