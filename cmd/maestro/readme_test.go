package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateReadme = flag.Bool("update-readme", false,
	"write what the commands of the README and the guide print into them")

// texts that differ between runs, and what the README shows instead
var readmeVaries = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://127.0.0.1:40123"},
	{regexp.MustCompile(`home \S+\)`), "home /tmp/tmp.5cW1nR/home)"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "2026-11-21T10:15:00.000Z"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "4c1f…e07b"},
	{regexp.MustCompile(`(mss_sess_\w+\.1\.)\S+`), "${1}uJQuPMZygAAWLdg9l"},
	{regexp.MustCompile(`(msu_\w+\.1\.)\S+`), "${1}hOa41PGOCUsf"},
	{regexp.MustCompile(`maestro v\S+ listening`), "maestro devel listening"},
	{regexp.MustCompile(`/\S+/Test\w+/001\b`), "/tmp/tmp.5cW1nR"},
	{regexp.MustCompile(`(?m)\b\d+ bytes$`), "… bytes"},
	{regexp.MustCompile(`(MAESTRO_MANIFEST_PATH=)\S+`), "${1}/tmp/tmp.5cW1nR/home/sess"},
	{regexp.MustCompile(`\(waits \d+s(, [^)]*)?\)`), "(waits 0s$1)"},
}

// TestReadme runs the commands of the README's tour in one shell, and compares their output.
func TestReadme(t *testing.T) {
	runPage(t, filepath.Join("..", "..", "README.md"))
}

// runPage runs the commands of a page's console blocks in one shell, and compares their output.
func runPage(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	readme := parseReadme(string(text))
	printed := runTour(t, readme.commands())
	if len(printed) != len(readme.commands()) {
		t.Fatalf("%d commands printed %d answers", len(readme.commands()), len(printed))
	}
	if *updateReadme {
		if err := os.WriteFile(path, []byte(readme.with(printed)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := readme.with(printed), string(text); got != want {
		t.Errorf(
			"%s does not show what its commands print; run `go test ./cmd/maestro -run '^%s$' -update-readme` and "+
				"look at the difference\n%s", path, t.Name(), firstDifference(want, got))
	}
}

// readmeText is a page in parts: prose, and commands of console blocks with their output. A line that begins with "> "
// continues the command above it.
type readmeText []readmePiece

type readmePiece struct {
	prose   string
	command string // "" for prose
}

func parseReadme(text string) readmeText {
	var pieces readmeText
	console, goesOn := false, false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```console"):
			console = true
			pieces = append(pieces, readmePiece{prose: line})
		case console && strings.HasPrefix(line, "```"):
			console = false
			pieces = append(pieces, readmePiece{prose: line})
		case console && strings.HasPrefix(line, "$ "):
			pieces, goesOn = append(pieces, readmePiece{command: strings.TrimSuffix(line[2:], "\n")}), true
		case console && goesOn && strings.HasPrefix(line, "> "):
			pieces[len(pieces)-1].command += "\n" + strings.TrimSuffix(line[2:], "\n")
		case !console:
			pieces = append(pieces, readmePiece{prose: line})
		default:
			goesOn = false
		}
	}
	return pieces
}

func (r readmeText) commands() []string {
	var commands []string
	for _, piece := range r {
		if piece.command != "" {
			commands = append(commands, piece.command)
		}
	}
	return commands
}

// with returns the page with this output of its commands.
func (r readmeText) with(printed []string) string {
	var b strings.Builder
	n := 0
	for _, piece := range r {
		if piece.command == "" {
			b.WriteString(piece.prose)
			continue
		}
		fmt.Fprintf(&b, "$ %s\n%s", strings.ReplaceAll(piece.command, "\n", "\n> "), printed[n])
		n++
	}
	return b.String()
}

// runTour runs the commands in one shell, in a directory of the test with a link to the examples.
func runTour(t *testing.T, commands []string) []string {
	t.Helper()
	const mark = "@@next@@"
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(top, "examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	bin := standIns(t)
	var script strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&script, "echo %s\n%s\n", mark, command)
		if strings.HasPrefix(command, "maestro serve") {
			script.WriteString("server=$!\nuntil maestro audit head >/dev/null 2>&1; do :; done\n")
		}
	}
	script.WriteString("kill $server; wait $server\n")
	shell := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+t.TempDir(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the tour failed: %v\n%s", err, output)
	}
	var printed []string
	for _, part := range strings.Split(string(output), mark+"\n")[1:] {
		var kept strings.Builder
		for line := range strings.Lines(part) {
			if strings.HasPrefix(line, "time=") { // the server's log
				continue
			}
			kept.WriteString(line)
		}
		answer := kept.String()
		for _, v := range readmeVaries {
			answer = v.pattern.ReplaceAllString(answer, v.shown)
		}
		printed = append(printed, answer)
	}
	return printed
}

// standIns returns a directory with stand-ins for programs that a page uses and a machine may lack: a tmux whose
// windows get only the environment that -e passes, and a claude that requires its instructions and works through a
// queue as an agent would.
func standIns(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tmux": `unset MAESTRO_HOME; PATH=/usr/bin:/bin
		while [ $# -gt 1 ]; do if [ "$1" = -e ]; then export "$2"; shift; fi; shift; done; exec sh -c "$1"`,
		"claude": `case "$*" in *"maestro report"*) ;; *) echo "no system prompt" >&2; exit 1 ;; esac
		grep -q task || { echo "no task prompt" >&2; exit 1; }
		while maestro queue start --wait --json | grep -q '"item":{'; do
			maestro report progress "Working on it"; maestro queue complete
		done; maestro session complete`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  page:    %s\n  printed: %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines on the page, %d printed", len(a), len(b))
}
