package speccoverage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	heading  = regexp.MustCompile(`(?m)^#+ .*\n`)
	testName = regexp.MustCompile(`^([a-z][a-z/]*)\.((?:Test|Fuzz)\w+)(?:/(.+))?$`)
)

// faults returns the false claims of a page's tables. A row has what a document asks for and either existing tests and
// scripts, or where it was decided otherwise, or what is planned.
func faults(page string) (found []string, rows, tests, otherwise, later int) {
	sources := map[string]string{}
	for i, line := range strings.Split(page, "\n") {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 2 || cells[0] != "" || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| asked |") {
			continue
		}
		fault := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		rows++
		if len(cells) != 4 {
			fault("has %d cells, not 2", len(cells)-2)
			continue
		}
		shown := strings.TrimSpace(cells[2])
		named := 0
		for _, match := range quoted.FindAllStringSubmatch(shown, -1) {
			known, err := exists(sources, match[1])
			if err != nil {
				fault("%v", err)
			}
			if known {
				named++
			}
		}
		tests += named
		switch {
		case strings.Contains(shown, "decided otherwise: "):
			if otherwise++; !strings.Contains(shown, "contract.md") {
				fault("does not say where it was decided")
			}
		case strings.Contains(shown, "later: "):
			later++
		case named == 0:
			fault("names nothing that shows it")
		}
	}
	return found, rows, tests, otherwise, later
}

// exists reports whether something that a page names exists: a script (report.txtar) or a test (commands.TestMayList),
// possibly with a case (commands.TestTaskDecisions/a cycle). known is false for anything else.
func exists(sources map[string]string, name string) (known bool, err error) {
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join(root, "cmd/maestro/testdata/script", name))
		return true, err
	}
	match := testName.FindStringSubmatch(name)
	if match == nil {
		return false, nil
	}
	pkg, test, part := match[1], match[2], match[3]
	if _, read := sources[pkg]; !read {
		if sources[pkg], err = source(filepath.Join(root, pkg)); err != nil {
			return true, err
		}
	}
	if !strings.Contains(sources[pkg], "\nfunc "+test+"(") {
		return true, fmt.Errorf("there is no %s in %s", test, pkg)
	}
	if part != "" && !strings.Contains(sources[pkg], `"`+part+`"`) {
		return true, fmt.Errorf("there is no case %q in %s", part, pkg)
	}
	return true, nil
}

// source returns the tests of a package with their data, where a case may be.
func source(dir string) (string, error) {
	var text strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, fmt.Errorf("there are no tests in %s", dir))
	}
	data, err := filepath.Glob(filepath.Join(dir, "testdata", "*.jsonl"))
	if err != nil {
		return "", err
	}
	for _, file := range slices.Concat(files, data) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		text.WriteString("\n")
		text.Write(content)
	}
	return text.String(), nil
}

func TestPageIsTrue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/spec-coverage.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, rows, tests, otherwise, later := faults(string(page))
	for _, fault := range found {
		t.Error(fault)
	}
	if rows < 100 || tests < rows {
		t.Errorf("only %d rows with %d tests were found", rows, tests)
	}
	if want := fmt.Sprintf("%d sentences: %d decided otherwise, %d later.", rows, otherwise,
		later); !strings.Contains(string(page), want) {
		t.Errorf("the page does not say: %s", want)
	}
}

// The documents stay as the user wrote them: docs/contract.md, "Decisions", says what differs from them.
func TestDocumentsAreUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"000-command-permissions.md":      "38f35a8a036e3724c6308dbc5c1355f3214271ff130e61bf620c5fb1b41714ea",
		"001-agent-launch-and-sandbox.md": "9e2b2dc7524c83bacec33475e20ea17fff0a856a0f80f7b344bb7077d5823b6b",
		"002-prompt-contract.md":          "49e5b80becce91d9d62d03dd4e8a718a4a518639c52ca79ba33865f41032317c",
		"003-manifest-schema.md":          "d4e26d05f9fea90d2d387888b3baa3a875d600bb59e63a284cbdf5111640729c",
	} {
		document, err := os.ReadFile(filepath.Join(root, "docs/spec", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(document)); got != want {
			t.Errorf("docs/spec/%s was changed: its digest is %s", name, got)
		}
	}
}

// The sections of the page are those of the documents: the text before ", and" is the beginning of a heading.
func TestSectionsAreHeadings(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/spec-coverage.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents, sections, headings := 0, 0, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if number, _, ok := strings.Cut(strings.TrimPrefix(line, "## "), ":"); ok && strings.HasPrefix(line, "## ") {
			files, err := filepath.Glob(filepath.Join(root, "docs/spec", number+"-*.md"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%s: the documents of this number are %q: %v", line, files, err)
			}
			document, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			headings = strings.ToLower(strings.Join(heading.FindAllString(string(document), -1), ""))
			documents++
		}
		if section, ok := strings.CutPrefix(line, "### "); ok {
			name, _, _ := strings.Cut(strings.ToLower(section), ", and")
			if sections++; !strings.Contains(headings, "# "+name) {
				t.Errorf("the document has no heading that begins with %q", name)
			}
		}
	}
	if documents != 4 || sections < 20 {
		t.Errorf("%d documents with %d sections", documents, sections)
	}
}

func TestFaultsAreSeen(t *testing.T) {
	for row, want := range map[string]string{
		"| a | `internal/tools/speccoverage.TestFaultsAreSeen` |":              "",
		"| a | `internal/tools/speccoverage.TestFaultsAreSeen/a case of it` |": "",
		"| a | `tree.txtar`, and `maestro task tree` in it |":                  "",
		"| a | decided otherwise: contract.md, HTTP |":                         "",
		"| a | later: the rest |":                                              "",
		"no row":                                                               "",
		"| a | `internal/tools/speccoverage.TestNone` |":                       "there is no TestNone",
		"| a | `internal/tools/speccoverage.TestPageIsTrue/no" + " case` |":    "there is no case",
		"| a | `internal/none.TestNone` |":                                     "there are no tests in",
		"| a | `none.txtar` |":                                                 "no such file",
		"| a | `maestro task tree` |":                                          "names nothing",
		"| a | |":                                                              "names nothing",
		"| a | decided otherwise: somewhere |":                                 "where it was decided",
		"| a | `tree.txtar` | c |":                                             "3 cells",
	} {
		found, _, _, _, _ := faults("| asked | shown by |\n|---|---|\n" + row)
		if got := strings.Join(found, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	if _, err := source("nowhere"); err == nil || errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	_ = "a case of it"
}
