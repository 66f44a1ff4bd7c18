package safetext

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"title", "description", "dependencies", "todo", "y"}
	for written, want := range map[string]string{
		"titel":                   "title",
		"dependenciez":            "dependencies",
		"tod":                     "todo",
		"otdo":                    "todo", // two neighbours are swapped
		"deps":                    "",
		"depend":                  "dependencies", // the beginning of the word
		"desc":                    "description",
		"d":                       "", // the beginning of two words
		"x":                       "", // one letter is near to every other
		"colour":                  "",
		"":                        "",
		strings.Repeat("x", 1000): "",
	} {
		if got := Nearest(written, words); got != want {
			t.Errorf("nearest to %q is %q, not %q", written, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("nearest of none is %q", got)
	}
}
