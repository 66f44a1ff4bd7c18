package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readers are the commands that read a file that they are told; NONE stands for it.
var readers = [][]string{
	{"audit", "verify", "NONE"},
	{"audit", "verify", "--oracle", "NONE"},
	{"audit", "replay", "NONE"},
	{"restore", "NONE"},
	{"restore", "GOOD", "--texts-from", "NONE"},
	{"salvage", "--home", "HOME", "--to", "NEW", "--with", "NONE"},
	{"task", "import", "NONE"},
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

// A file that does not exist is told in one way, with one exit code.
func TestFilesThatDoNotExist(t *testing.T) {
	env, _ := answering(t, 200, `{"data":[]}`)
	delete(env, "MAESTRO_SESSION_ID")
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
		got := runHere(t, env, named...)
		told := regexp.MustCompile("^maestro: There is no file " + regexp.QuoteMeta(none) +
			"\n  why:  [^\n]+\n  next: [^\n]+\n$").MatchString(got.stderr)
		if got.code != ExitNotFound || got.stdout != "" || !told {
			t.Errorf("%v: %+v", args, got)
		}
		if _, err := os.Stat(env["MAESTRO_HOME"]); err == nil {
			t.Errorf("%v made a home", args)
		}
	}
}

// Every command that takes a file is in the table above, or writes it.
func TestEveryReaderIsTested(t *testing.T) {
	writers := map[string]bool{"maestro backup": true, "maestro audit export": true}
	tested := map[string]bool{}
	for _, args := range readers {
		tested["maestro "+args[0]] = true
		tested["maestro "+args[0]+" "+args[1]] = true
	}
	eachCommand((&Run{}).Root(), func(cmd *cobra.Command) {
		reads := strings.Contains(cmd.Use, "FILE")
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

// In a flag's description back-quotes do not quote: what is between them is shown as the flag's type.
func TestFlagsShowTheirTypes(t *testing.T) {
	eachCommand((&Run{}).Root(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if strings.Contains(flag.Usage, "`") {
				t.Errorf("`%s --%s` has back-quotes: %s", cmd.CommandPath(), flag.Name, flag.Usage)
			}
		})
	})
}

// A file that cannot be written is not blamed on the server.
func TestWritingFailsHere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	broken := iotest.ErrReader(io.ErrUnexpectedEOF)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	sent := io.MultiReader(strings.NewReader("x"), broken)
	if e := explain(second(writeNew(t.Context(), file, sent))); e.message != "What the server sent is cut short" {
		t.Errorf("a server that breaks off is explained as %+v", e)
	}
	if _, err := writeNew(ended, file, broken); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt gives %v", err)
	}
	nowhere := filepath.Join(dir, "none", "b.tar")
	e := explain(second(writeNew(t.Context(), nowhere, strings.NewReader("x"))))
	if e.message != "The file "+nowhere+" could not be written" || e.why != "no such file or directory" ||
		e.next == "" {
		t.Errorf("a directory that does not exist is explained as %+v", e)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func second[T any](_ T, err error) error { return err }
