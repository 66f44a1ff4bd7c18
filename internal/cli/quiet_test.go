package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that answers with a list has -q with one meaning, and prints the first cells of its rows.
func TestEveryListIsQuiet(t *testing.T) {
	root := (&Run{}).Root()
	lists := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
		isList := slices.Contains([]string{"list", "children", "tree", "inbox", "denials", "limits"}, cmd.Name())
		if !isList && cmd.Annotations["lists"] == "" {
			return
		}
		lists++
		flag := cmd.Flags().ShorthandLookup("q")
		if flag == nil || flag.Name != "quiet" || flag.Usage != "print the ids only" {
			t.Errorf("`%s` has no -q that prints the ids: %+v", cmd.CommandPath(), flag)
		}
	}
	visit(root)
	if lists < 11 {
		t.Errorf("there are only %d lists", lists)
	}
	answers := regexp.MustCompile(`\b(List|listFitted|answerList)\((c\.Run|a), `)
	for _, dir := range []string{".", "offline"} {
		for path, text := range sources(t, dir) {
			if path == "output.go" { // it defines them
				continue
			}
			if n := len(answers.FindAllString(text, -1)); n > strings.Count(text, ".ListFlags(cmd)") {
				t.Errorf("%s answers with %d lists, and marks fewer commands with ListFlags", path, n)
			}
		}
	}
	for _, quiet := range []bool{true, false} {
		out := &bytes.Buffer{}
		a := &Run{Printer: Printer{Stdout: out, Stderr: out, quiet: quiet}}
		row := func(id string) []string { return []string{id, "other"} }
		List(a, []string{"one", "two"}, "none", []string{"ID", "REST"}, row)
		if want := map[bool]string{true: "one\ntwo\n", false: "one  other\ntwo  other\n"}[quiet]; out.String() != want {
			t.Errorf("quiet %t prints %q", quiet, out.String())
		}
	}
}

// sources returns the program's own files in a directory, by path.
func sources(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no sources: %v", dir, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}
