package speccoverage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threats returns the rows of the threat model in docs/security.md that name no test, or one that does not exist.
func threats(page string) (found []string, rows int) {
	_, table, ok := strings.Cut(page, "| threat | what happens | test |\n|---|---|---|\n")
	if !ok {
		return []string{"there is no table of threats"}, 0
	}
	sources := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			break
		}
		rows++
		named := 0
		for _, match := range quoted.FindAllStringSubmatch(cells[3], -1) {
			known, err := exists(sources, match[1])
			switch {
			case err != nil:
				found = append(found, strings.TrimSpace(cells[1])+": "+err.Error())
			case !known:
				found = append(found, strings.TrimSpace(cells[1])+": "+match[1]+" is no test")
			default:
				named++
			}
		}
		if named == 0 {
			found = append(found, strings.TrimSpace(cells[1])+": no test")
		}
	}
	return found, rows
}

// Every line of the threat model names tests that exist.
func TestThreatsHaveTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, rows := threats(string(page))
	for _, fault := range found {
		t.Error(fault)
	}
	if rows < 30 {
		t.Errorf("only %d threats", rows)
	}
	for _, bad := range []string{"| x | y | nothing |\n", "| x | y | `api.TestNoSuchTest` |\n", "| x | y | `x` |\n"} {
		planted := strings.Replace(string(page), "|---|---|---|\n", "|---|---|---|\n"+bad, 1)
		if found, _ := threats(planted); len(found) == 0 {
			t.Errorf("the row %q is accepted", bad)
		}
	}
}
