package imports

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	longestLine = 120
	tabWidth    = 4
)

// Lines of code end at 120 columns. A string that is too long for a line of its own may exceed that, because a search
// does not find a text that is split in two, and a tag cannot be split. So may preformatted text in a comment, such as
// a drawing.
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
		"package p\n\nvar a = f(b, \"" + long[:longestLine-10] + "\")\n":                             1,
		"package p\n\nvar a = b(" + long[:longestLine-17] + " == \"c\")\n":                           1,
		"package p\n\nvar a = b +\n\t\"" + long + "\" +\n\tc\n":                                      0,
		"package p\n\nvar a = \"" + long + " \" +\n\t\"c\"\n":                                        1,
		"package p\n\nvar a = f(\"b\", " + long[:longestLine-20] + ", \"c\")\n":                      1,
		"package p\n\nvar a = \"" + long[:longestLine-20] + "\".Method(behindIt, c)\n":               1,
		"package p\n\nvar a = `\n" + long + long + "\n`\n":                                           0,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-30]:                                1,
		"package p\n\n\t\t\t\t\t\t\tvar a = " + long[:longestLine-36]:                                0,
	} {
		if got := longLines([]byte(source)); len(got) != want {
			t.Errorf("%q: found %q, want %d", source, got, want)
		}
	}
}

// longLines returns the lines of a source that are too long.
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
	var before lexeme
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		at := files.Position(pos)
		if kind == token.COMMENT && preformatted(text) {
			delete(long, at.Line)
		}
		if kind == token.STRING {
			first, last := at.Line, at.Line+strings.Count(text, "\n")
			for line := range last - first - 1 {
				delete(long, first+1+line)
			}
			if first == last && mayEnd(lines[first-1], at.Column-1, text, before.on(first)) ||
				first < last && at.Column-1 < longestLine {
				delete(long, first)
			}
			_, end, _ := strings.Cut(lines[last-1], "`")
			if first < last && (utf8.RuneCountInString(end) <= little || strings.Contains(end, "`")) {
				delete(long, last) // a template continues after the inserted value
			}
		}
		before = lexeme{kind, at.Line}
	}
	for line := range long {
		faults = append(faults, fmt.Sprintf("%d: %d columns, of at most %d", line, width(lines[line-1]), longestLine))
	}
	return faults
}

// lexeme is a token of a source, and its line.
type lexeme struct {
	kind token.Token
	line int
}

// on returns the kind of a token if it is on a line, else token.ILLEGAL.
func (l lexeme) on(line int) token.Token {
	if l.line != line {
		return token.ILLEGAL
	}
	return l.kind
}

// preformatted reports whether a line of a comment is preformatted: gofmt indents it.
func preformatted(comment string) bool {
	text, ok := strings.CutPrefix(comment, "//")
	return ok && strings.TrimLeft(text, "\t ") != strings.TrimPrefix(text, " ")
}

// little is how many characters may follow the string that makes a line too long.
const little = 30

// breakable are the tokens after which a line can be broken.
var breakable = []token.Token{
	token.COMMA, token.LPAREN, token.LBRACK, token.LBRACE, token.ADD, token.LAND, token.LOR, token.EQL,
	token.NEQ,
}

// mayEnd reports whether a line is too long only because of a string in it: the line without the string is short
// enough, a line with only the string would be too long as well, and the string is not one that is split anyway.
func mayEnd(line string, at int, text string, behind token.Token) bool {
	before, after := line[:at], line[at+len(text):]
	indented := strings.Repeat("\t", len(line)-len(strings.TrimLeft(line, "\t"))+1)
	switch {
	case width(before) >= longestLine || utf8.RuneCountInString(after) > little:
		return false
	case slices.Contains(breakable, behind) && width(indented+text+after) <= longestLine:
		return false
	case strings.TrimSpace(after) == "+" && strings.HasSuffix(text[:len(text)-1], " "):
		return false
	}
	return width(before+text) > longestLine || !strings.ContainsFunc(after, unicode.IsLetter)
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
