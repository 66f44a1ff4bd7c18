package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/lazyregexp"
)

// onceExecuted matches a run of `session exec` for a single command of Maestro. It sends a heartbeat, so the session's
// lease is a minute from then on, and a reader who pauses has lost the session.
var onceExecuted = lazyregexp.New(`(?m)^\$ maestro session exec \S+ -- maestro .*$`)

// TestGuide runs the commands of each page of the guide, each in its own shell and home.
func TestGuide(t *testing.T) {
	pages, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(pages) < 2 {
		t.Fatalf("the guide has the pages %q: %v", pages, err)
	}
	for _, path := range pages {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		if name == "reference" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			page := string(content)
			existingCommands(t, path, page)
			for _, line := range onceExecuted().FindAllString(page, -1) {
				t.Errorf("%s: the session is lost a minute after this command: %s", path, line)
			}
			shell := false
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, "```") {
					shell = strings.HasPrefix(line, "```sh")
				}
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "maestro "); ok && shell {
					command, _, _ = strings.Cut(command, " #")
					existingCommands(t, path, "`maestro "+strings.TrimSpace(command)+"`")
				}
			}
			if strings.Contains(page, "```console") {
				runPage(t, path)
			}
		})
	}
}
