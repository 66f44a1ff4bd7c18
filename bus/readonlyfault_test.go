package bus

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Any file operation of a reader without a server may fail once: everything is still read.
func TestReaderSurvivesDiskFault(t *testing.T) {
	s := newDividedStore(t)
	for kind, makeStore := range storeKinds {
		image := storeCopy(t, s.dir)
		makeStore(t, s, image)
		try := func(t *testing.T, nth int, why error) int {
			t.Helper()
			counted, restore := failing(nth, failure{why: why})
			defer restore()
			r, err := OpenReadOnly(t.Context(), Options{Dir: image})
			operations, which := counted()
			restore()
			if err != nil {
				t.Fatalf("%s: %v", which, err)
			}
			sameMessages(t, allOf(t, r), s.log)
			for digest, content := range s.blobs {
				if got, err := r.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s: the text %s is %d bytes, %v", which, digest, len(got), err)
				}
			}
			for _, fault := range r.Faults() {
				if !fault.Tail {
					t.Errorf("%s: %s", which, fault)
				}
			}
			must(t, r.Close())
			return operations
		}
		operations := try(t, 0, nil)
		for nth := 1; nth <= operations; nth++ {
			why := failures[nth%len(failures)]
			t.Run(fmt.Sprintf("%s %d %v", kind, nth, why), func(t *testing.T) { try(t, nth, why) })
		}
		if t.Failed() {
			t.Log(strings.TrimSpace(fmt.Sprintln(kind, operations, "operations")))
		}
	}
}
