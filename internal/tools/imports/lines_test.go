package imports

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	longestLine = 120
	tabWidth    = 4
)

// Lines of Go end at 120 columns, strings and comments included: a long string is split with +. Only a field with a
// struct tag may be longer, because a tag cannot be split.
func TestLinesEnd(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, fault := range longLines(string(source)) {
			t.Errorf("%s:%s", path, fault)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files: %v", files, err)
	}
}

func TestLongLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for source, want := range map[string]int{
		"package p\n\nvar a = " + long + "\n":                                                   1,
		"package p\n\n// " + long + "\n":                                                        1,
		"package p\n\n//\t" + long + "\n":                                                       1,
		"package p\n\nvar a = \"" + long + "\"\n":                                               1,
		"package p\n\nvar a = f(`\n" + long + long + "\n`)\n":                                   1,
		"package p\n\nvar a = f(`{\"json\":\"" + long + "\"}`)\n":                               1,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-30]:                           1,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-36]:                           0,
		"package p\n\ntype a struct {\n\tB string `json:\"b\" doc:\"" + long + "\"`\n}\n":       0,
		"package p\n\ntype a struct {\n\tB string `json:\"b\" doc:\"" + long + "\"` // c\n}\n":  1,
		"package p\n\ntype a struct {\n\tB map[string]" + long + " `json:\"b,omitempty\"`\n}\n": 0,
	} {
		if got := longLines(source); len(got) != want {
			t.Errorf("%q: found %q, want %d", source, got, want)
		}
	}
}

// tagged matches the end of a field with a struct tag.
var tagged = regexp.MustCompile("^\t+[A-Z]\\w* .*`[a-z]+:\"[^`]*\"`$")

// longLines returns the lines of a source that are too long.
func longLines(source string) (faults []string) {
	for i, line := range strings.Split(source, "\n") {
		if columns := width(line); columns > longestLine && !tagged.MatchString(line) {
			faults = append(faults, fmt.Sprintf("%d: %d columns, of at most %d", i+1, columns, longestLine))
		}
	}
	return faults
}

func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// longestFile is how many lines a source may have. A longer file probably has more than one concept.
const longestFile = 460

func TestFilesAreShort(t *testing.T) {
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		if lines := strings.Count(content, "\n"); lines > longestFile {
			t.Errorf("%s has %d lines, of at most %d: divide it by concept", path, lines, longestFile)
		}
	}
}
