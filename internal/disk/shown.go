package disk

import (
	"io/fs"
	"os"
	"strings"

	"maestro/internal/lazyregexp"
)

// heldPrefix begins the paths by which a process reaches what it holds open.
const heldPrefix = "/proc/self/fd/"

var heldPath = lazyregexp.New(heldPrefix + `\d+`)

// Shown replaces in a text the paths that lead through an open file of this process, which mean nothing to others, by
// the path of that file.
func Shown(text string) string {
	if !strings.Contains(text, heldPrefix) {
		return text
	}
	return heldPath().ReplaceAllStringFunc(text, func(held string) string {
		path, err := os.Readlink(held)
		if err != nil {
			return held
		}
		return strings.TrimSuffix(path, " (deleted)")
	})
}

// named is an error of package os with paths that mean something to others.
func named(err error) error {
	switch e := err.(type) { //nolint:errorlint // it comes from package os as it is
	case *fs.PathError:
		e.Path = Shown(e.Path)
	case *os.LinkError:
		e.Old, e.New = Shown(e.Old), Shown(e.New)
	}
	return err
}

func given[T any](result T, err error) (T, error) { return result, named(err) }
