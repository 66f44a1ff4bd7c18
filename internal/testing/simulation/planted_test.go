package simulation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	planted = flag.Bool(
		"planted",
		false,
		"let TestPlanted check that each planted bug is caught",
	)
	plantNamed = flag.String("plant", "", "only the plants whose name matches this regular expression")
	plantSeeds = flag.Int("plantseeds", 2000, "how many seeds a planted bug may survive")
)

// edit replaces a text that must occur exactly once in a file of the module.
type edit struct{ file, old, new string }

// plant is a bug that somebody could have written.
type plant struct {
	name  string
	edits []edit
}

// TestPlanted shows that the simulation finds bugs: it plants one bug after another in the product, through a build
// overlay, never in the tree, and runs seeds until a promise breaks.
func TestPlanted(t *testing.T) {
	if !*planted {
		t.Log("skipped: run it with -planted")
		return
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(*plantNamed)
	var table strings.Builder
	for _, p := range plants {
		if !only.MatchString(p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			binary := build(t, root, p)
			caught := run(t, binary)
			fmt.Fprintf(&table, "| %s | %d | %s |\n", p.name, caught.seeds, caught.by)
			if caught.by == "" {
				t.Errorf("%q survived %d seeds", p.name, caught.seeds)
			}
		})
	}
	t.Logf("\n| planted bug | seeds until caught | by promise |\n|---|---|---|\n%s", table.String())
}

// TestPlantsHaveTheirPlace checks that each bug can still be planted and has its row in docs/proof.md. TestPlanted
// would notice that too, but it seldom runs.
func TestPlantsHaveTheirPlace(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	proof, err := os.ReadFile(filepath.Join(root, "docs", "proof.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			alter(t, root, p)
			if !bytes.Contains(proof, []byte("\n| "+p.name+" | ")) {
				t.Error("docs/proof.md has no row for it: run it with -planted -plant NAME, and add what it prints")
			}
		})
	}
}

// alter returns the files that a bug changes, with the bug.
func alter(t *testing.T, root string, p plant) map[string]string {
	t.Helper()
	altered := map[string]string{}
	for _, e := range p.edits {
		path := filepath.Join(root, e.file)
		text, ok := altered[path]
		if !ok {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("the text to replace occurs %d times in %s, not once:\n%s", n, e.file, e.old)
		}
		altered[path] = strings.Replace(text, e.old, e.new, 1)
	}
	return altered
}

// build compiles the simulation's tests with a bug in the product.
func build(t *testing.T, root string, p plant) string {
	t.Helper()
	dir, altered := t.TempDir(), alter(t, root, p)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range altered {
		copied := filepath.Join(dir, fmt.Sprintf("%d_%s", len(overlay.Replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = copied
	}
	content, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation.test")
	if err := os.WriteFile(list, content, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(
		t.Context(),
		"go",
		"test",
		"-c",
		"-vet=off",
		"-overlay",
		list,
		"-o",
		binary,
		"./internal/testing/simulation",
	)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// caught returns how many seeds it took to catch a bug, and which promise the bug broke; "" if none.
type caught struct {
	seeds int
	by    string
}

var broke = regexp.MustCompile(`breaks a promise: promise (.*?): `)

func run(t *testing.T, binary string) caught {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(
		ctx,
		binary,
		"-test.run",
		"^TestSimulation$",
		"-quick",
		"-seeds",
		fmt.Sprint(*plantSeeds),
		"-test.timeout",
		"9m",
	)
	out, err := command.CombinedOutput()
	var c caught
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "seed ") {
			c.seeds++
		}
		if m := broke.FindStringSubmatch(lines.Text()); m != nil {
			c.by = m[1]
		}
	}
	var exit *exec.ExitError
	if why := firstPanic(out); errors.As(err, &exit) && c.by == "" && !strings.Contains(why, "test timed out") {
		c.by = "(the process ended: " + why + ")"
	}
	return c
}

// firstPanic returns the line of a test binary's output that says why it ended.
func firstPanic(out []byte) string {
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return "no panic"
}
