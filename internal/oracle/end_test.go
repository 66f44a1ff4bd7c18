package oracle

import (
	"fmt"
	"strings"
	"testing"
)

// The last line of an export is the sequence and the hash of the last event, and nothing follows it.
func TestEndOfAnExport(t *testing.T) {
	s := base(t)
	export := string(s.export())
	lines := strings.Split(strings.TrimSuffix(export, "\n"), "\n")
	sequence := len(lines)
	l, err := readLine([]byte(lines[sequence-1]))
	if err != nil {
		t.Fatal(err)
	}
	end := func(sequence int, hash, more string) string {
		return fmt.Sprintf(`{"end":{"sequence":%d,"hash":%q}%s}`, sequence, hash, more) + "\n"
	}
	hash := l.Hash.String()
	for _, c := range []struct {
		name, last   string
		faults       int
		unreadableAs string
	}{
		{"right", end(sequence, hash, ""), 0, ""},
		{"right, with a count of texts", end(sequence, hash, `,"texts":0`), 0, ""},
		{"an event is missing", end(sequence+1, hash, ""), 1, ""},
		{"another event", end(sequence, strings.Repeat("0", 64), ""), 1, ""},
		{"an unknown member", end(sequence, hash, `,"more":1`), 0, "not the end of an export"},
		{"a member twice", end(sequence, hash, `,"texts":0,"texts":1`), 0, "twice"},
		{"no hash", `{"end":{"sequence":1}}` + "\n", 0, "needs the sequence and the hash"},
		{"two objects", strings.TrimSuffix(end(sequence, hash, ""), "\n") + "{}\n", 0, "something follows the object"},
		{"something behind it", end(sequence, hash, "") + lines[0] + "\n", 0, "it follows the end of the log"},
		{"twice", end(sequence, hash, "") + end(sequence, hash, ""), 0, "it follows the end of the log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Read(strings.NewReader(export + c.last))
			if c.unreadableAs != "" {
				if err == nil || !strings.Contains(err.Error(), c.unreadableAs) {
					t.Errorf("it is read: %v, want %q", err, c.unreadableAs)
				}
				return
			}
			if err != nil || len(v.Faults) != c.faults {
				t.Errorf("%v, faults %v, want %d", err, v.Faults, c.faults)
			}
		})
	}
}
