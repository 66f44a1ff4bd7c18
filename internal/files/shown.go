package files

import (
	"os"
	"regexp"
	"strings"
)

// heldPath matches the paths by which a process reaches what it holds open.
var heldPath = regexp.MustCompile(`/proc/self/fd/\d+`)

// Shown replaces in a text the paths that lead through an open file of this process, which mean nothing to others, by
// the path of that file.
func Shown(text string) string {
	if !strings.Contains(text, "/proc/self/fd/") {
		return text
	}
	return heldPath.ReplaceAllStringFunc(text, func(held string) string {
		path, err := os.Readlink(held)
		if err != nil {
			return held
		}
		return strings.TrimSuffix(path, " (deleted)")
	})
}
