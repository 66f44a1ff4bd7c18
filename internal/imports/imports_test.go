package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "maestro/"

// table says for each package of ours what it may import of ours. A package that ends in "/…" stands for all below it. One
// that is not here may import anything but the binary and api/compat.
var table = []struct {
	pkg string
	may []string
}{
	{"events", nil},
	{"projections", []string{"events"}},
	{"commands", []string{"events", "projections"}},
	{"engine", []string{"events", "projections", "commands"}},
	{"bus", []string{"events", "internal/files"}},
	{"api/client", []string{"service/wire"}},
	{"api/export", []string{"engine", "commands", "projections", "events"}},
	{"service", []string{"service/wire", "engine", "commands", "projections", "events", "workers/manifest"}},
	{"service/wire", []string{"engine", "commands", "projections", "events"}},
	{"api/route", []string{"service", "projections"}},
	{"api/compat", []string{"api/route", "service", "service/wire", "engine", "commands", "projections", "events"}},
	{"api", []string{
		"service", "service/wire", "engine", "commands", "projections", "events", "workers/manifest", "api/export",
		"api/route", "api/compat",
	}},
	{"workers/…", []string{"events", "commands", "api/client", "workers/…", "internal/files"}},
	{"internal/files", nil},
	{"examples", nil},
	{"internal/oracle", nil},
}

// pure are the packages that touch no network, no file, no clock and no randomness themselves. engine is given its Log
// and its clock.
var pure = []string{"events", "projections", "commands", "engine"}

// impure are the imports that would let them, each with everything below it.
var impure = []string{"net", "os", "syscall", "math/rand", "crypto/rand", "github.com/nats-io"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func matches(path, pattern string) bool {
	if root, ok := strings.CutSuffix(pattern, "/…"); ok {
		return within(path, root)
	}
	return path == pattern
}

func faults(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module); ok && !mayImport(name, ours) {
				found = append(found, fmt.Sprintf("%s imports %s", name, ours))
			}
			if slices.Contains(pure, name) && slices.ContainsFunc(impure, func(root string) bool { return within(imported, root) }) {
				found = append(found, fmt.Sprintf("%s imports %s, and it is pure", name, imported))
			}
		}
	}
	return found
}

func mayImport(name, ours string) bool {
	if within(ours, "cmd") || ours == "api/compat" && name != "api" {
		return false
	}
	for _, row := range table {
		if matches(name, row.pkg) {
			return slices.ContainsFunc(row.may, func(pattern string) bool { return matches(ours, pattern) })
		}
	}
	return true
}

// list reads the imports of every file that is no test, whatever system it is for. It reads the files itself, so that the Go
// command knows that this test depends on them and does not answer from its cache.
func list(t *testing.T) []pkg {
	t.Helper()
	const root = "../.."
	byDir := map[string]*pkg{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if byDir[dir] == nil {
			byDir[dir] = &pkg{ImportPath: module + filepath.ToSlash(dir)}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			byDir[dir].Imports = append(byDir[dir].Imports, imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var packages []pkg
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		packages = append(packages, *byDir[dir])
	}
	return packages
}

func TestImports(t *testing.T) {
	packages := list(t)
	for _, name := range append([]string{"bus", "api", "cmd/maestro"}, pure...) {
		if !slices.ContainsFunc(packages, func(p pkg) bool { return p.ImportPath == module+name }) {
			t.Errorf("there is no package %s: the table guards nothing", name)
		}
	}
	for _, fault := range faults(packages) {
		t.Error(fault)
	}
}

func TestFaultsAreSeen(t *testing.T) {
	wrong := []pkg{
		{"maestro/events", []string{"fmt", "maestro/projections"}},
		{"maestro/projections", []string{"maestro/events", "maestro/commands"}},
		{"maestro/commands", []string{"maestro/events", "net/http", "math/rand/v2", "os"}},
		{"maestro/bus", []string{"maestro/commands", "net"}},
		{"maestro/api/client", []string{"maestro/commands"}},
		{"maestro/api", []string{"maestro/bus"}},
		{"maestro/api/compat", []string{"maestro/api"}},
		{"maestro/internal/demo", []string{"maestro/api/compat"}},
		{"maestro/workers/runner", []string{"maestro/projections", "maestro/workers/manifest"}},
		{"maestro/internal/demo", []string{"maestro/cmd/maestro"}},
	}
	want := []string{
		"events imports projections",
		"projections imports commands",
		"commands imports net/http, and it is pure",
		"commands imports math/rand/v2, and it is pure",
		"commands imports os, and it is pure",
		"bus imports commands",
		"api/client imports commands",
		"api imports bus",
		"api/compat imports api",
		"internal/demo imports api/compat",
		"workers/runner imports projections",
		"internal/demo imports cmd/maestro",
	}
	if got := faults(wrong); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
