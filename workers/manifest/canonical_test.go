package manifest

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// sameAgain checks that a manifest is unchanged after it was written and read, and that writing it again gives the same
// text.
func sameAgain(tb testing.TB, m *Manifest) {
	tb.Helper()
	written := m.Canonical()
	again, err := Parse(written)
	if err != nil {
		tb.Fatalf("the canonical form is refused: %v\n%.2000s", err, written)
	}
	if !reflect.DeepEqual(again, m) {
		tb.Fatalf("the manifest changed when it was written and read\n%.2000s\n%+v\n%+v", written, m, again)
	}
	if !bytes.Equal(again.Canonical(), written) {
		tb.Fatalf("the second writing differs\n%.2000s", written)
	}
}

// No nesting and no number of items makes the canonical form too large to be read.
func TestCanonicalIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 400) + strings.Repeat("]", 400)
	m, err := Parse([]byte(with(t, `"projectId":"p1"`, `"projectId":"p1","metadata":{"d":[`+strings.Repeat(deep+",",
		100)+deep+`]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if written := m.Canonical(); len(written) > 90<<10 || !bytes.Contains(written, []byte("\n        \"d\": [[[")) {
		t.Errorf("%d bytes: %.800s", len(written), written)
	}

	m, err = Parse([]byte(with(t, `"projectId":"p1"`,
		`"projectId":"p1","dependencies":[`+strings.TrimSuffix(strings.Repeat(`"a",`, 3<<19), ",")+`]`)))
	if err != nil {
		t.Fatal(err)
	}
	if written := m.Canonical(); len(written) > MaxSize || bytes.Count(written, []byte("\n")) != 1 {
		t.Errorf("%d bytes on %d lines", len(written), bytes.Count(written, []byte("\n")))
	}
	m.Tasks[0].Dependencies = m.Tasks[0].Dependencies[:1<<10]
	if written := m.Canonical(); bytes.Count(written, []byte("\n")) < 1<<10 {
		t.Error("a manifest of allowed size is not indented")
	}
}

// A manifest that was not read from a document is written so that it can be read.
func TestCanonicalOfNoTasks(t *testing.T) {
	m := &Manifest{
		ManifestVersion: Version,
		Role:            "worker",
		Strategy:        "queue",
		Session: Session{
			Model:          "haiku",
			PermissionMode: ReadOnly,
		},
	}
	again, err := Parse(m.Canonical())
	if err != nil || again.Tasks == nil || m.Tasks != nil {
		t.Errorf("got %+v, %v; the manifest now has %v", again, err, m.Tasks)
	}
}
