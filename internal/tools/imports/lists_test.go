package imports

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	typeOfEvent   = regexp.MustCompile(`"maestro\.[a-z_]+\.[a-z_]+\.v\d+"`)
	payloadMethod = regexp.MustCompile(`func \(\*?(\w+)\) EventType\(\)`)
	rowOfTable    = regexp.MustCompile(`\{ID: ("[a-z:-]+")`)
)

// Outside the package of the events, where each noun has its list, only two sources list all events: the fold, which
// the linter checks for completeness, and the oracle, which is written from the documents.
func TestListsOfEvents(t *testing.T) {
	files := goFiles(t)
	var types, payloads []string
	for path, content := range files {
		if !strings.HasPrefix(path, "events/") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		types = append(types, typeOfEvent.FindAllString(content, -1)...)
		for _, found := range payloadMethod.FindAllStringSubmatch(content, -1) {
			payloads = append(payloads, "*events."+found[1]+":")
		}
	}
	have := slices.Concat(listing(t, files, types), listing(t, files, payloads))
	have = slices.DeleteFunc(have, func(path string) bool { return strings.HasPrefix(path, "events/") })
	if want := []string{"internal/oracle/known.go", "projections/state.go"}; !slices.Equal(have, want) {
		t.Errorf("events are listed in %v, want %v", have, want)
	}
}

// Two sources list the commands with their events: the table, and the oracle's table, which is written from the
// documents.
func TestListsOfCommands(t *testing.T) {
	table, err := os.ReadFile("../../../commands/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, found := range rowOfTable.FindAllStringSubmatch(string(table), -1) {
		ids = append(ids, found[1])
	}
	have := listing(t, goFiles(t), ids)
	if want := []string{"commands/rules.go", "internal/oracle/table.go"}; !slices.Equal(have, want) {
		t.Errorf("commands are listed in %v, want %v", have, want)
	}
}

// listing returns the sources, except generated ones, that name most of these texts.
func listing(t *testing.T, files map[string]string, texts []string) (paths []string) {
	t.Helper()
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) < 40 {
		t.Fatalf("there are only %d: %q", len(texts), texts)
	}
	for path, content := range files {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		named := 0
		for _, text := range texts {
			if strings.Contains(content, text) {
				named++
			}
		}
		if named > len(texts)*2/3 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
