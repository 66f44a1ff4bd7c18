package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestManPages: `maestro man` writes a page for each command in the help, with its options and examples, and escapes
// text that the formatter would interpret.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var stdout, stderr strings.Builder
	env := []string{"HOME=" + t.TempDir()}
	if code := run(context.Background(), []string{"man", dir}, env, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	pages := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		pages++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("`%s` has no page: %v", cmd.CommandPath(), err)
			return
		}
		checkRoff(t, name, string(text))
		page := plain(string(text))
		for _, part := range []string{cmd.Short, cmd.UseLine(), cmd.Long, cmd.Example} {
			if part = strings.Trim(part, "\n"); !strings.Contains(page, part) {
				t.Errorf("%s leaves out %q", name, part)
			}
		}
		hasFlag := func(f *pflag.Flag) {
			if _, usage := pflag.UnquoteUsage(f); !f.Hidden && f.Name != "help" &&
				(!strings.Contains(page, "--"+f.Name) || !strings.Contains(page, usage)) {
				t.Errorf("%s leaves out --%s", name, f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(hasFlag)
		cmd.InheritedFlags().VisitAll(hasFlag)
		for _, sub := range cmd.Commands() {
			if !shown(sub) {
				continue
			}
			also := ".BR " + strings.ReplaceAll(sub.CommandPath(), " ", "-") + " (1)"
			if !strings.Contains(page, also) {
				t.Errorf("%s does not lead to %s", name, sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(root())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != pages {
		t.Errorf("there are %d pages for %d commands: %v", len(entries), pages, err)
	}
}

// checkRoff fails for a line that begins with a macro that the generator does not write, and for a character that a
// formatter takes for another one.
func checkRoff(t *testing.T, name, page string) {
	t.Helper()
	macros := []string{".TH", ".SH", ".B", ".BR", ".PP", ".TP", ".nf", ".fi"}
	for line := range strings.Lines(page) {
		first := strings.Fields(line + " .")[0]
		if strings.HasPrefix(line, ".") && !slices.Contains(macros, first) {
			t.Errorf("%s has an instruction that is text: %s", name, line)
		}
		if strings.ContainsAny(escapes.ReplaceAllString(line, ""), "\\-'`~^") {
			t.Errorf("%s has an escape or a character that is shown as another one: %s", name, line)
		}
		if strings.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			t.Errorf("%s is not ASCII: %s", name, line)
		}
	}
}

// escapes are those that the generator writes.
var escapes = regexp.MustCompile(`\\(e|-|&|\((dq|aq|ga|ti|ha)|\[u[0-9A-F]{4,6}\])`)

// plain undoes the generator's escapes.
func plain(page string) string {
	glyphs := map[string]string{
		`\e`: `\`, `\-`: "-", `\&`: "", `\(dq`: `"`, `\(aq`: "'", `\(ga`: "`", `\(ti`: "~", `\(ha`: "^",
	}
	return escapes.ReplaceAllStringFunc(page, func(escape string) string {
		if code, ok := strings.CutPrefix(escape, `\[u`); ok {
			r, _ := strconv.ParseInt(strings.TrimSuffix(code, "]"), 16, 32)
			return string(rune(r))
		}
		return glyphs[escape]
	})
}
