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

// opens are functions that open a file by its path, by the name of their package.
var opens = map[string][]string{
	"os":   {"DirFS", "Open", "OpenFile", "OpenInRoot", "ReadFile"},
	"disk": {"Open", "OpenFile", "ReadFile"},
}

// mayOpen are the files that may call them, each with its reason.
var mayOpen = map[string]string{
	"internal/files/files.go":              "the place",
	"internal/disk/disk.go":                "the operations themselves",
	"internal/files/durable.go":            "opens a directory, and creates a file",
	"internal/files/fill.go":               "creates a file",
	"internal/files/write.go":              "opens for writing what it has just checked",
	"internal/files/system_unix.go":        "opens a directory only",
	"internal/home/home.go":                "opens a directory only",
	"internal/salvage/aside.go":            "creates a file",
	"internal/salvage/behind.go":           "creates a file",
	"internal/salvage/tails.go":            "creates a file",
	"internal/cli/ancestors_linux.go":      "the kernel's files about processes",
	"internal/cli/supervise_unix.go":       "the terminal",
	"internal/demo/actor.go":               "files of its own server and agents",
	"internal/demo/boundary.go":            "a file that it must not be able to read, and the kernel's about processes",
	"internal/demo/server.go":              "the log of its own server",
	"internal/demo/story.go":               "a file that it has written",
	"internal/measure/benchmark/size.go":   "files of its own server",
	"internal/tools/docgen/main.go":        "files of this module",
	"bus/aside.go":                         "a file that the walk of a directory found to be regular",
	"bus/blocklayout.go":                   "the place for files of the store, which checks them",
	"bus/cache_linux.go":                   "files that the walk of a directory found to be regular",
	"bus/heldstore.go":                     "opens a directory only",
	"bus/lock.go":                          "the lock, which it has checked or creates",
	"bus/meta.go":                          "a file that it has written",
	"bus/readonly.go":                      "opens a directory only",
	"bus/storefiles.go":                    "syncs a file or directory that it has written",
	"workers/confine/exec_linux.go":        "the kernel's files about processes",
	"workers/preflight/access.go":          "opens a directory only",
	"workers/processes/processes_linux.go": "the kernel's files about processes",
	"workers/socket/socket_linux.go":       "opens a directory only",
	"workers/socket/socket_other.go":       "opens a directory only",
	"workers/confine/start_linux.go":       "the kernel's files about users and sockets",
	"bus/unread.go":                        "a file that it found to be regular",
	"bus/usable.go":                        "a block that it found to be regular",
}

// Files to read are opened by files.OpenNamed, files.OpenInput or in a home's root: these wait for no pipe's other end,
// and read no device.
func TestFilesToReadAreOpenedInOnePlace(t *testing.T) {
	used := map[string]bool{}
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/testing/") {
			continue
		}
		calls := openings(t, path, content)
		used[path] = len(calls) > 0
		if mayOpen[path] != "" {
			continue
		}
		for _, call := range calls {
			t.Errorf("%s: use files.OpenNamed or files.OpenInput, not %s", path, call)
		}
	}
	for path := range mayOpen {
		if !used[path] {
			t.Errorf("%s needs no exception: it opens no file", path)
		}
	}
	const wrong = "package p\nvar read = os.ReadFile\nfunc f() { os.Open(a); disk.OpenFile(a, 0, 0); bus.Open(a) }"
	if calls := openings(t, "internal/cli/wrong.go", wrong); len(calls) != 3 {
		t.Errorf("of three openings, the check finds %q", calls)
	}
}

// openings returns the functions of opens that a file uses.
func openings(t *testing.T, path, content string) (calls []string) {
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
		if of, ok := selector.X.(*ast.Ident); ok && slices.Contains(opens[of.Name], selector.Sel.Name) {
			calls = append(calls, of.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return calls
}
