package cli

import (
	"strings"
	"testing"
)

// A list that is longer than the terminal is cut to it, and says how much is missing.
func TestListsAreCutToTheScreen(t *testing.T) {
	list := strings.Repeat("row\n", 30)
	for _, c := range []struct {
		height, below, rows int
		last                string
	}{
		{0, 0, 30, "row"},
		{40, 0, 30, "row"},
		{31, 0, 30, "row"},
		{30, 0, 28, "2 more lines: narrow the list, or make the terminal higher"},
		{30, 3, 25, "5 more lines: narrow the list, or make the terminal higher"},
		{1, 0, 1, "29 more lines: narrow the list, or make the terminal higher"},
	} {
		got := strings.Split(strings.TrimSuffix((&Screen{Height: c.height}).cut(list, c.below), "\n"), "\n")
		rows := 0
		for _, line := range got {
			if line == "row" {
				rows++
			}
		}
		if rows != c.rows || got[len(got)-1] != c.last {
			t.Errorf("of a terminal with %d lines, %d show rows, and the last is %q", c.height, rows, got[len(got)-1])
		}
	}
	if got := (*Screen)(nil).cut(list, 0); got != list {
		t.Error("a file is cut")
	}
}
