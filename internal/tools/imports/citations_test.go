package imports

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// cited is a page of ours that a text names, with the places on it: docs/contract.md, "Queues".
	cited = regexp.MustCompile(
		`"?((?:\.\./)*(?:docs/)?(?:(?:spec|decisions|guide)/)?` +
			`(?:00\d-[a-z-]+|\d{4}-[a-z0-9-]+|contract|http-api-compat|architecture|events|limits|operations|` +
			`permissions|proof|routes|security|spec-coverage)\.md)((?:,? (?:and )?"[^"\n]+")*)`)
	place = regexp.MustCompile(`"([^"]+)"`)
	// link is a link of Markdown.
	link = regexp.MustCompile(`\[[^\]\n]*\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	// vague are citations that name a document without its page.
	vague = regexp.MustCompile(`(?i)\bdocuments? 00\d|\b00[0-3](?:['’]s|–)|\bcontract\b(?:[^.]|\.(?:[^m]|$))|` +
		`\bhttp-api-compat\b(?:[^.]|\.[^m])|\breference/http|\.\./shared|\bagent-clis`)
	// prefix is what begins a line of a comment.
	prefix = regexp.MustCompile(`(?m)\n[ \t]*(?://|#) ?`)
	// signs are texts one of which is in every citation.
	signs = []string{
		".md", "contract", "Contract", "ocument 00", "ocuments 00", "-compat", "000'", "000’", "000–", "001'", "002'",
		"003'", "003’", "../shared", "agent-clis",
	}
	numbers = regexp.MustCompile(`^\d+\. `)
	bold    = regexp.MustCompile(`\*\*([^*]+?)\.?\*\*`)
)

// Every citation of a document names an existing page and a place on it: a heading, a question in a table of decisions,
// or the bold beginning of a paragraph. Every link of a page leads to something that exists.
func TestCitationsResolve(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := filepath.Rel("../../..", file)
		if err != nil {
			return err
		}
		at = filepath.ToSlash(at)
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && at != "." && at != ".ci" || at == "docs/spec" || at == "bin" ||
				entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !citing(at) {
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		faults, citations := wrongCitations(at, string(content))
		seen += citations
		for _, fault := range faults {
			t.Errorf("%s: %s", at, fault)
		}
		return nil
	})
	if err != nil || seen < 200 {
		t.Errorf("%d citations seen: %v", seen, err)
	}
}

// citing reports whether a file is checked for citations: our own files for people, except the history of changes.
func citing(at string) bool {
	switch path.Ext(at) {
	case ".go":
		return at != "internal/tools/imports/citations_test.go" && at != "internal/tools/speccoverage/page_test.go"
	case ".txtar", ".yaml", ".yml":
		return true
	case ".md":
		return at != "docs/http-api-compat.md" && !strings.Contains(at, "/testdata/")
	}
	return at == "Makefile"
}

// wrongCitations returns the citations of a file that lead nowhere, and the number of all citations.
func wrongCitations(at, content string) (faults []string, citations int) {
	if !slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(content, sign) }) {
		return nil, 0
	}
	// The links of a page that a source generates are checked on that page.
	text := link.ReplaceAllString(prefix.ReplaceAllString(content, " "), "")
	if path.Ext(at) == ".md" {
		for _, found := range link.FindAllStringSubmatch(content, -1) {
			citations++
			if fault := wrongLink(at, found[1], strings.TrimPrefix(found[2], "#")); fault != "" {
				faults = append(faults, fault)
			}
		}
		text = strings.Join(strings.Fields(link.ReplaceAllString(withoutHeadings(content), "")), " ")
	}
	for _, found := range cited.FindAllStringSubmatch(text, -1) {
		citations++
		file := strings.HasPrefix(found[0], `"`) // the program reads this file; it is not a citation
		if file {
			continue
		}
		page, ok := pageOf(at, found[1])
		if !ok {
			faults = append(faults, found[0]+": there is no such page")
			continue
		}
		places := place.FindAllStringSubmatch(found[2], -1)
		for _, p := range places {
			if !hasPlace(page, p[1]) {
				faults = append(faults, found[0]+": there is no such heading")
			}
		}
		precise := strings.Contains(found[1], "spec/") || strings.Contains(found[1], "contract")
		if path.Ext(at) == ".go" && precise && len(places) == 0 {
			faults = append(faults, found[0]+" names no heading")
		}
	}
	for _, found := range vague.FindAllString(cited.ReplaceAllString(text, ""), -1) {
		faults = append(faults, "“"+found+"” names no page: write docs/NAME.md, \"Heading\"")
	}
	return faults, citations
}

func withoutHeadings(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// wrongLink returns what is wrong with a link of a page; "" if nothing is.
func wrongLink(at, target, anchor string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	file := path.Join(path.Dir(at), target)
	if target == "" {
		file = at
	}
	info, err := os.Stat(filepath.Join("../../..", filepath.FromSlash(file)))
	if err != nil {
		return "the link to " + target + " leads nowhere"
	}
	if anchor == "" || info.IsDir() {
		return ""
	}
	page, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(file)))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "#") && anchorOf(strings.TrimLeft(line, "# ")) == anchor {
			return ""
		}
	}
	return "the link to " + target + "#" + anchor + " leads to no heading"
}

// anchorOf returns the anchor that a heading gets when it is shown.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ' || r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), " ", "-")
}

// pageOf reads a page that a file names: from the root, or beside the file.
func pageOf(at, name string) (string, bool) {
	for _, file := range []string{name, path.Join(path.Dir(at), name)} {
		content, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(file)))
		if err == nil {
			return string(content), true
		}
	}
	return "", false
}

// hasPlace reports whether a page has a heading, a row or a paragraph that begins with these words.
func hasPlace(page, words string) bool {
	plain := strings.NewReplacer("`", "", `"`, "")
	code := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if heading := strings.TrimLeft(line, "#"); !code && heading != line {
			heading = strings.TrimSpace(heading)
			if heading == words || numbers.ReplaceAllString(heading, "") == words {
				return true
			}
		}
		if cell, isRow := strings.CutPrefix(line, "| "); isRow && strings.HasPrefix(plain.Replace(cell), words) {
			return true
		}
	}
	for _, found := range bold.FindAllStringSubmatch(page, -1) {
		if found[1] == words {
			return true
		}
	}
	return false
}

func TestWrongCitationsAreFound(t *testing.T) {
	const contract = "docs/contract.md"
	for _, c := range []struct{ at, text, want string }{
		{"a.go", `// See docs/contract.md, "Queues".`, ""},
		{"a.go", "// See docs/contract.md,\n// \"Queues\".", ""},
		{"a.go", `// See docs/contract.md, "model", and "Queues".`, ""},
		{"a.go", `// See docs/contract.md, "Without a connection".`, ""},
		{"a.go", `// See docs/spec/000-command-permissions.md, "Default Command Sets".`, ""},
		{"a.go", `// See docs/limits.md.`, ""},
		{"docs/a.md", "See [it](contract.md#queues), and contract.md, \"model\".", ""},
		{"a.go", `// See docs/contract.md, "Queue".`, "no such heading"},
		{"a.go", "// See docs/contract.md,\n// \"Who may do what\".", "no such heading"},
		{"a.go", "// See docs/contract.md.", "names no heading"},
		{"a.go", `// See docs/spec/004-nothing.md, "Overview".`, "no such page"},
		{"a.go", "// See document 003.", "names no page"},
		{"a.go", "// The contract says so.", "names no page"},
		{"a.go", `// Contract, "Queues".`, "names no page"},
		{"a.go", "// It is 000's list.", "names no page"},
		{"a.go", "// See reference/http-api-compat.md.", "no such page"},
		{"a.txtar", "# In the words of document 000.", "names no page"},
		{"docs/a.md", "See [it](nothing.md).", "leads nowhere"},
		{"docs/a.md", "See [it](contract.md#queue).", "leads to no heading"},
	} {
		faults, _ := wrongCitations(c.at, c.text)
		if got := strings.Join(faults, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q: %q, want %q", c.at, c.text, got, c.want)
		}
	}
	if _, ok := pageOf("a.go", contract); !ok {
		t.Error("there is no " + contract)
	}
}
