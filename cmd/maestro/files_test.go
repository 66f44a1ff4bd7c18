package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/commands"
	"maestro/internal/cli"
	"maestro/internal/testing/standin"
)

// readers are the commands that read a file; NONE stands for its name.
var readers = [][]string{
	{"audit", "verify", "NONE"},
	{"audit", "verify", "--oracle", "NONE"},
	{"audit", "replay", "NONE"},
	{"audit", "diff", "NONE", "--from", "1"},
	{"restore", "NONE"},
	{"import", "NONE"},
	{"restore", "GOOD", "--texts-from", "NONE"},
	{"salvage", "--home", "HOME", "--new-home", "NEW", "--with", "NONE"},
	{"task", "import", "NONE"},
	{"task", "edit", "id", "--file", "NONE"},
	{"plan", "apply", "NONE"},
	{"template", "create", "name", "NONE"},
	{"template", "update", "id", "--file", "NONE"},
	{"manifest", "validate", "NONE"},
	{"manifest", "migrate", "NONE"},
	{"manifest", "show", "NONE"},
	{"manifest", "generate", "--context", "NONE"},
	{"session", "spawn", "--manifest", "NONE"},
	{"session", "update", "id", "--manifest", "NONE"},
	{"worker", "init", "--manifest", "NONE"},
	{"orchestrator", "init", "--manifest", "NONE"},
}

// All commands report a missing file in the same way, with the same exit code.
func TestMissingFiles(t *testing.T) {
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[]}`)
	}, "mss_s.1.x"))
	defer server.Close()
	env := map[string]string{"MAESTRO_API_URL": server.URL, "MAESTRO_TOKEN": "mss_s.1.x", "MAESTRO_PROJECT_ID": "p"}
	for _, args := range readers {
		dir := t.TempDir()
		none := filepath.Join(dir, "none")
		good := filepath.Join(dir, "good")
		err := errors.Join(os.WriteFile(good, []byte("{}"), 0o600), os.Mkdir(filepath.Join(dir, "home"), 0o700))
		if err != nil {
			t.Fatal(err)
		}
		env["MAESTRO_HOME"] = filepath.Join(dir, "own")
		named := make([]string, len(args))
		for i, arg := range args {
			named[i] = strings.NewReplacer("NONE", none, "GOOD", good, "HOME", filepath.Join(dir, "home"),
				"NEW", filepath.Join(dir, "new")).Replace(arg)
		}
		as := env
		if commands.IsForOperators(args[0]) { // a session is refused before it names a file
			as = maps.Clone(env)
			delete(as, "MAESTRO_TOKEN")
		}
		got := runHere(t, as, named...)
		told := regexp.MustCompile("^maestro: There is no file " + regexp.QuoteMeta(none) +
			"\n  why:  [^\n]+\n  next: [^\n]+\n$").MatchString(got.stderr)
		nobody := strings.TrimPrefix(got.stdout, "export MAESTRO_SESSION_ID=\n") // for a shell that evaluates it
		if got.code != cli.ExitNotFound || nobody != "" || !told {
			t.Errorf("%v: %+v", args, got)
		}
		if _, err := os.Stat(env["MAESTRO_HOME"]); err == nil {
			t.Errorf("%v made a home", args)
		}
	}
}

// Every command with a file argument is in the table above, or writes that file.
func TestEveryReaderIsTested(t *testing.T) {
	writers := map[string]bool{"maestro backup": true, "maestro audit export": true}
	tested := map[string]bool{}
	for _, args := range readers {
		tested["maestro "+args[0]] = true
		tested["maestro "+args[0]+" "+args[1]] = true
	}
	eachCommand(root(), func(cmd *cobra.Command) {
		reads := strings.Contains(cmd.Use, "<file>")
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			reads = reads || slices.Contains([]string{"manifest", "file", "context", "with", "texts-from"}, flag.Name)
		})
		if path := cmd.CommandPath(); reads && !writers[path] && !tested[path] {
			t.Errorf("`%s` reads a file, and no test names one that does not exist", path)
		}
	})
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, verb := range cmd.Commands() {
		eachCommand(verb, do)
	}
}

// In a flag's description, back-quotes do not quote: the text between them is shown as the flag's type.
func TestFlagsShowTheirTypes(t *testing.T) {
	eachCommand(root(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if strings.Contains(flag.Usage, "`") {
				t.Errorf("`%s --%s` has back-quotes: %s", cmd.CommandPath(), flag.Name, flag.Usage)
			}
		})
	})
}
