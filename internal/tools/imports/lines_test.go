package imports

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	longestLine = 120
	tabWidth    = 4
)

// Lines of code end at 120 columns. A string may go beyond, because a text that is cut in two is not found by a search,
// and a tag cannot be cut; so may a drawing, or what a comment gives as it stands.
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
		for _, fault := range longLines(source) {
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
		"package p\n\nvar a = " + long + "\n":                                                        1,
		"package p\n\n// " + long + "\n":                                                             1,
		"package p\n\n//\t" + long + "\n":                                                            0,
		"package p\n\nvar a = \"" + long + "\"\n":                                                    0,
		"package p\n\nvar a = f(\"" + long + "\", b, c, d, e, f)\n":                                  0,
		"package p\n\nvar a = f(\"" + long + "\", b, func() { aVeryLongName(ofAnotherFunction) })\n": 1,
		"package p\n\nvar a = `\n" + long + long + "\n`\n":                                           0,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-30]:                                1,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-36]:                                0,
	} {
		if got := longLines([]byte(source)); len(got) != want {
			t.Errorf("%q: found %q, want %d", source, got, want)
		}
	}
}

// longLines gives the lines of a source that are too long.
func longLines(source []byte) (faults []string) {
	lines := strings.Split(string(source), "\n")
	long := map[int]bool{}
	for i, line := range lines {
		if width(line) > longestLine {
			long[i+1] = true
		}
	}
	if len(long) == 0 {
		return nil
	}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		at := files.Position(pos)
		if kind == token.COMMENT && preformatted(text) {
			delete(long, at.Line)
		}
		if kind != token.STRING {
			continue
		}
		last := strings.Count(text, "\n")
		for i, part := range strings.Split(text, "\n") {
			if line := at.Line + i; i > 0 && i < last || mayEnd(lines[line-1], part) {
				delete(long, line)
			}
		}
	}
	for line := range long {
		faults = append(faults, fmt.Sprintf("%d: %d columns, of at most %d", line, width(lines[line-1]), longestLine))
	}
	return faults
}

// preformatted reports whether a line of a comment stands as it is: gofmt indents it.
func preformatted(comment string) bool {
	text, ok := strings.CutPrefix(comment, "//")
	return ok && strings.TrimLeft(text, "\t ") != strings.TrimPrefix(text, " ")
}

// mayEnd reports whether a line is long for a string in it: without the string, and little behind it, it would end in
// time.
func mayEnd(line, text string) bool {
	const little = 30
	before, after, _ := strings.Cut(line, text)
	return width(before) < longestLine && utf8.RuneCountInString(after) <= little
}

func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// longestFile is how many lines a source may have. Who needs more has two concepts in one file.
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
