package manifest

import (
	"bytes"
	"reflect"
	"testing"
)

// sameAgain checks that a manifest is the same after it was written and read, and is then written the same.
func sameAgain(tb testing.TB, m *Manifest) {
	tb.Helper()
	written := m.Canonical()
	again, err := Parse(written)
	if err != nil {
		tb.Fatalf("the canonical form is refused: %v\n%.2000s", err, written)
	}
	if !reflect.DeepEqual(again, m) {
		tb.Fatalf("another manifest after it was written\n%.2000s\n%+v\n%+v", written, m, again)
	}
	if !bytes.Equal(again.Canonical(), written) {
		tb.Fatalf("written differently the second time\n%.2000s", written)
	}
}
