package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "maestro/"

// table says for each package of ours what it may import of ours. A package that ends in "/…" stands for all below it. One
// that is not here may import anything but the binary.
var table = []struct {
	pkg string
	may []string
}{
	{"events", nil},
	{"projections", []string{"events"}},
	{"commands", []string{"events", "projections"}},
	{"bus", []string{"events"}},
	{"api/client", []string{"events"}},
	{"api/export", []string{"commands", "projections", "events"}},
	{"api", []string{"commands", "projections", "events", "workers/manifest", "api/export"}},
	{"workers/…", []string{"events", "commands", "api/client", "workers/…"}},
	{"examples", nil},
}

// pure are the packages that touch no network, no file, no clock and no randomness.
var pure = []string{"events", "projections", "commands"}

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
	if within(ours, "cmd") {
		return false
	}
	for _, row := range table {
		if matches(name, row.pkg) {
			return slices.ContainsFunc(row.may, func(pattern string) bool { return matches(ours, pattern) })
		}
	}
	return true
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	packages := list(t)
	for _, name := range append([]string{"bus", "api", "cmd/maestro"}, pure...) {
		if !slices.ContainsFunc(packages, func(p pkg) bool { return p.ImportPath == module+name }) {
			t.Errorf("go list does not know %s: the table guards nothing", name)
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
		"workers/runner imports projections",
		"internal/demo imports cmd/maestro",
	}
	if got := faults(wrong); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
