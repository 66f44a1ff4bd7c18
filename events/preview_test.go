package events_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/events"
)

func TestBeginning(t *testing.T) {
	for _, c := range []struct {
		text, want string
		most       int
		more       bool
	}{
		{"", "", 0, false},
		{"abc", "abc", 3, false},
		{"abcd", "abc", 3, true},
		{"aé", "aé", 3, false},
		{"aéb", "a", 2, true}, // é has two bytes
		{"日本", "日", 5, true},
		{"日本", "", 2, true},
		{"\xff\xffz", "\xff\xff", 2, true},
	} {
		short, more := events.Beginning(c.text, c.most)
		if short != c.want || more != c.more {
			t.Errorf("the first %d bytes of %q are %q, %v", c.most, c.text, short, more)
		}
		want := short
		if more {
			want += "…"
		}
		if shown, _ := events.Preview(c.text, c.most); shown != want {
			t.Errorf("the preview of %q is %q", c.text, shown)
		}
	}
	long := strings.Repeat("日", 1000)
	if short, _ := events.Beginning(long, 100); len(short) != 99 || !utf8.ValidString(short) {
		t.Errorf("%d bytes", len(short))
	}
}
