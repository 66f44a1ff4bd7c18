package safetext

import "testing"

// What needs no look at each character is what that look would leave alone.
func TestPlainTextActsNowhere(t *testing.T) {
	for c := range rune(256) {
		if plain(string(c)) && (Acts(c) || c > '~') {
			t.Errorf("%q is taken for plain", c)
		}
	}
}
