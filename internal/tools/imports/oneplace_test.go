package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// onePlace are operations that only one place implements, recognised by the functions that it calls, and the files that
// may call these functions, each with its reason.
var onePlace = []struct {
	what, use string
	calls     []string
	may       map[string]string
}{
	{
		what:  "puts a file in the place of another",
		use:   "files.Write or files.WritePath",
		calls: []string{"Rename"},
		may: map[string]string{
			"internal/files/write.go":         "the place",
			"internal/disk/disk.go":           "the operation itself",
			"internal/disk/root.go":           "the operation itself",
			"internal/files/fill.go":          "moves what is new into an empty directory",
			"internal/home/noted.go":          "moves a damaged file aside",
			"workers/supervisor/gitclear.go":  "moves what an agent left aside",
			"internal/server/witness/head.go": "moves a damaged file aside",
			"internal/backups/dir.go":         "a stream that is not held in memory",
			"internal/home/skilladd.go":       "moves a directory to its place",
			"internal/cli/files.go":           "a stream into a new file, where the file system has no links",
			"workers/outbox/disk.go":          "the operation itself, on a disk that tests make fail",
			"workers/outbox/outbox.go":        "a file whose name is not known before it is written",
			"bus/aside.go":                    "moves a directory of the store",
			"bus/prepare.go":                  "moves what no stream owns",
			"bus/remade.go":                   "moves a directory of the store",
			"bus/restore.go":                  "moves a whole store to its place",
			"bus/spareback.go":                "moves blocks of the store",
		},
	},
	{
		what:  "locks a file",
		use:   "internal/files",
		calls: []string{"Flock", "LockFileEx", "FcntlFlock"},
		may:   map[string]string{"internal/files/system_unix.go": "the place"},
	},
	{
		what:  "judges the characters of a text",
		use:   "internal/safetext",
		calls: []string{"IsControl", "IsPrint", "IsGraphic", "ToValidUTF8", "QuoteToGraphic"},
		may: map[string]string{
			"internal/safetext/acts.go":  "the place",
			"internal/safetext/short.go": "the place",
			"commands/valid.go":          "refuses a name; nothing is shown",
			"workers/manifest/rules.go":  "refuses a name; nothing is shown",
		},
	},
	{
		what:  "knows a full disk",
		use:   "files.Full",
		calls: []string{"ENOSPC", "EDQUOT", "EFBIG"},
		may:   map[string]string{"internal/files/full.go": "the place"},
	},
}

// TestSingleImplementations: making texts safe, replacing and locking files, and recognising a full disk are each
// implemented in one place.
func TestSingleImplementations(t *testing.T) {
	used := map[string]bool{}
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/testing/") {
			continue
		}
		for _, fault := range elsewhere(t, path, content, used) {
			t.Error(fault)
		}
	}
	for _, one := range onePlace {
		for path := range one.may {
			if !used[path+one.what] {
				t.Errorf("%s needs no exception: nothing in it %s", path, one.what)
			}
		}
	}
	const wrong = "package p\n" +
		"func f() { os.Rename(a, b); unix.Flock(1, 2, unix.ENOSPC); strings.ContainsFunc(s, unicode.IsControl) }"
	if faults := elsewhere(t, "internal/cli/wrong.go", wrong, used); len(faults) != 4 {
		t.Errorf("of four operations, the check finds %q", faults)
	}
}

// elsewhere returns the operations that a file implements again, and records in used which exceptions are used.
func elsewhere(t *testing.T, path, content string, used map[string]bool) (faults []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		for _, one := range onePlace {
			if !slices.Contains(one.calls, selector.Sel.Name) {
				continue
			}
			used[path+one.what] = true
			if one.may[path] == "" {
				faults = append(faults, path+" "+one.what+" with "+selector.Sel.Name+": use "+one.use)
			}
		}
		return true
	})
	return faults
}
