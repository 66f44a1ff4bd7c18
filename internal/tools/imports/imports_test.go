package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "maestro/"

// row is a row of the table "The packages" of docs/architecture.md: which of our packages a package may import. A name
// that ends in "/…" stands for all packages below it.
type row struct {
	pkg string
	may []string
	// any says that it may import anything but the binary.
	any bool
}

func (r row) uses(p pkg, pattern string) bool {
	return matches(strings.TrimPrefix(p.ImportPath, module), r.pkg) && slices.ContainsFunc(p.Imports,
		func(imported string) bool { return matches(strings.TrimPrefix(imported, module), pattern) })
}

// everywhere may be imported by every package.
var everywhere = []string{"internal/lazyregexp", "internal/safetext", "internal/syntax"}

// only names packages that, outside tests, only the listed packages may import, whatever the table says.
var only = map[string][]string{
	"api/compat":         {"api"},
	"internal/testing/…": {"internal/testing/…"},
	"internal/tools/…":   {"internal/tools/…"},
	"internal/measure/…": {"internal/measure/…", "cmd/maestro"},
}

// table reads the table from the documentation, the only place that says what may import what.
func table(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "| package | what it is | imports of ours |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of the packages")
	}
	var rows []row
	for line := range strings.Lines(after) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			break
		}
		r := row{pkg: strings.Trim(strings.TrimSpace(cells[0]), "`")}
		switch imports := strings.TrimSpace(cells[2]); imports {
		case "all", "as needed":
			r.any = true
		case "none":
		default:
			for name := range strings.SplitSeq(imports, ", ") {
				if !strings.HasPrefix(name, "`") {
					t.Fatalf("%s: %q is not the name of a package", r.pkg, name)
				}
				r.may = append(r.may, strings.Trim(name, "`"))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// pure are the packages that use no network, file, clock or randomness themselves. The engine's caller passes in a Log
// and a clock.
var pure = []string{"events", "projections", "commands", "engine"}

// impure are the imports that pure packages must not have, each with all packages below it.
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

func faults(rows []row, packages []pkg) []string {
	var found []string
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module); ok && !mayImport(rows, name, ours) {
				found = append(found, fmt.Sprintf("%s imports %s", name, ours))
			}
			if within(name, "service") && within(imported, "net/http") {
				found = append(found, fmt.Sprintf("%s imports %s, and it does not know HTTP", name, imported))
			}
			if slices.Contains(pure, name) &&
				slices.ContainsFunc(impure, func(root string) bool { return within(imported, root) }) {
				found = append(found, fmt.Sprintf("%s imports %s, and it is pure", name, imported))
			}
		}
	}
	return found
}

func mayImport(rows []row, name, ours string) bool {
	if within(ours, "cmd") {
		return false
	}
	for pattern, by := range only {
		if matches(ours, pattern) && !slices.ContainsFunc(by, func(by string) bool { return matches(name, by) }) {
			return false
		}
	}
	if slices.Contains(everywhere, ours) {
		return true
	}
	for _, r := range rows { // a longer name takes precedence over a pattern that includes it
		if matches(name, r.pkg) {
			return r.any || slices.ContainsFunc(r.may, func(pattern string) bool { return matches(ours, pattern) })
		}
	}
	return false
}

// list reads the imports of every file that is not a test, for every operating system. It reads the files itself, so
// that the Go command knows that this test depends on them and does not use a cached result.
func list(t *testing.T) []pkg {
	t.Helper()
	const root = "../../.."
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
	packages, rows := list(t), table(t)
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		if !slices.ContainsFunc(rows, func(r row) bool { return matches(name, r.pkg) }) {
			t.Errorf("docs/architecture.md says nothing of package %s", name)
		}
	}
	for _, r := range rows {
		if !slices.ContainsFunc(
			packages,
			func(p pkg) bool { return matches(strings.TrimPrefix(p.ImportPath, module), r.pkg) },
		) {
			t.Errorf("docs/architecture.md names %s, which is not a package", r.pkg)
		}
		for _, may := range r.may {
			if !slices.ContainsFunc(packages, func(p pkg) bool { return r.uses(p, may) }) {
				t.Errorf("docs/architecture.md lets %s import %s, but it does not", r.pkg, may)
			}
		}
	}
	for _, name := range append([]string{"bus", "api", "internal/cli", "cmd/maestro"}, pure...) {
		if !slices.ContainsFunc(packages, func(p pkg) bool { return p.ImportPath == module+name }) {
			t.Errorf("there is no package %s: the table guards nothing", name)
		}
	}
	for _, fault := range faults(rows, packages) {
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
		{"maestro/service", []string{"net/http"}},
		{"maestro/unknown", []string{"maestro/events"}},
		{"maestro/api/compat", []string{"maestro/api"}},
		{"maestro/internal/demo", []string{"maestro/api/compat"}},
		{"maestro/workers/runner", []string{"maestro/projections", "maestro/workers/manifest"}},
		{"maestro/internal/demo", []string{"maestro/cmd/maestro"}},
		{"maestro/cmd/maestro", []string{"maestro/internal/testing/simlog", "maestro/internal/measure/benchmark"}},
		{"maestro/internal/testing/damage", []string{
			"maestro/internal/testing/simlog",
			"maestro/internal/tools/docgen",
		}},
		{"maestro/internal/salvage", []string{"maestro/internal/measure/rawbench"}},
		{"maestro/internal/home", []string{"maestro/bus"}},
		{"maestro/internal/backups", []string{"maestro/internal/home"}},
		{"maestro/internal/salvage", []string{"maestro/service"}},
		{"maestro/internal/plan", []string{"maestro/projections"}},
		{"maestro/internal/clock", []string{"maestro/events"}},
		{"maestro/internal/lines", []string{"maestro/events"}},
		{"maestro/api/export", []string{"maestro/commands"}},
		{"maestro/api/route", []string{"maestro/projections"}},
		{"maestro/workers/outbox", []string{"maestro/api/client"}},
		{"maestro/engine", []string{"maestro/bus", "crypto/rand"}},
		{"maestro/service/wire", []string{"maestro/service", "net/http"}},
		{"maestro/internal/server/guard", []string{"maestro/internal/server/witness", "maestro/service"}},
		{"maestro/internal/server/listen", []string{"maestro/service"}},
		{"maestro/internal/server/process", []string{"maestro/internal/failure"}},
		{"maestro/internal/server/wallclock", []string{"maestro/engine"}},
		{"maestro/internal/server/witness", []string{"maestro/internal/server/guard"}},
		{"maestro/internal/cli", []string{"maestro/service", "maestro/engine", "maestro/internal/cli/offline"}},
		{"maestro/internal/oracle", []string{"maestro/commands"}},
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
		"service imports net/http, and it does not know HTTP",
		"unknown imports events",
		"api/compat imports api",
		"internal/demo imports api/compat",
		"workers/runner imports projections",
		"internal/demo imports cmd/maestro",
		"cmd/maestro imports internal/testing/simlog",
		"internal/testing/damage imports internal/tools/docgen",
		"internal/salvage imports internal/measure/rawbench",
		"internal/home imports bus",
		"internal/backups imports internal/home",
		"internal/salvage imports service",
		"internal/plan imports projections",
		"internal/clock imports events",
		"internal/lines imports events",
		"api/export imports commands",
		"api/route imports projections",
		"workers/outbox imports api/client",
		"engine imports bus",
		"engine imports crypto/rand, and it is pure",
		"service/wire imports service",
		"service/wire imports net/http, and it does not know HTTP",
		"internal/server/guard imports internal/server/witness",
		"internal/server/guard imports service",
		"internal/server/listen imports service",
		"internal/server/process imports internal/failure",
		"internal/server/wallclock imports engine",
		"internal/server/witness imports internal/server/guard",
		"internal/cli imports service",
		"internal/cli imports engine",
		"internal/cli imports internal/cli/offline",
		"internal/oracle imports commands",
	}
	if got := faults(table(t), wrong); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
