package imports

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// contributing has the recipes, each below its heading.
const contributing = "../../../CONTRIBUTING.md"

// step is a Go file that a recipe names.
var step = regexp.MustCompile("`([a-z][\\w/<>.-]*\\.go)`")

// optional is a step that only some follow: an event has a mark if people look for it.
const optional = "projections/tape.go"

// example is something that follows a recipe: its names, and the noun of its files.
type example struct {
	noun  string
	names []string
}

// recipes are the recipes of CONTRIBUTING.md that say which files name a new thing. most is how many sources somebody
// may have to edit.
var recipes = []struct {
	heading  string
	most     int
	examples []example
}{
	{"## A new command on existing events", 6, []example{
		{"queue", []string{`"queue:requeue"`, "RequeueItem", `"queue requeue":`}},
		{"task", []string{`"task:reopen"`, "ReopenTask", `"task reopen":`}},
		{"input", []string{`"input:answer"`, "AnswerInput", `"input answer":`}},
		{"template", []string{`"template:reset"`, "ResetTemplate", `"template reset":`}},
		{"message", []string{`"session:message"`, "MessageSession", `"session message":`}},
	}},
	{"## A new event", 6, []example{
		{"project", []string{`"maestro.project.updated.v1"`, "ProjectUpdated"}},
		{"queue", []string{`"maestro.queue.item_requeued.v1"`, "QueueItemRequeued"}},
		{"template", []string{`"maestro.template.reset.v1"`, "TemplateReset"}},
		{"template", []string{`"maestro.template.deleted.v1"`, "TemplateDeleted"}},
		{"message", []string{`"maestro.session.messaged.v1"`, "SessionMessaged"}},
	}},
}

// The recipes of CONTRIBUTING.md are true for today's commands and events: exactly the sources in the recipe name them,
// and so does each test in the recipe. The judges and the routes of older clients may name them in more files, because
// that differs from one to another.
func TestRecipesAreTrue(t *testing.T) {
	page, err := os.ReadFile(contributing)
	if err != nil {
		t.Fatal(err)
	}
	files := goFiles(t)
	for _, recipe := range recipes {
		_, section, found := strings.Cut(string(page), recipe.heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		steps := step.FindAllStringSubmatch(section, -1)
		steps = slices.DeleteFunc(steps, func(step []string) bool { return step[1] == optional })
		sources := 0
		for _, step := range steps {
			if !strings.HasSuffix(step[1], "_test.go") && !strings.HasSuffix(step[1], "_gen.go") {
				sources++
			}
		}
		if !found || sources == 0 || sources > recipe.most {
			t.Errorf("%s: %d sources, at most %d", recipe.heading, sources, recipe.most)
		}
		for _, e := range recipe.examples {
			want := map[string]bool{}
			for _, step := range steps {
				want[strings.ReplaceAll(step[1], "<noun>", e.noun)] = true
			}
			have := naming(files, e.names)
			for path := range want {
				if !have[path] {
					t.Errorf("%s: %s does not name %s", recipe.heading, path, e.names[0])
				}
			}
			for _, path := range slices.Sorted(maps.Keys(have)) {
				if !want[path] && path != optional && isSource(path) {
					t.Errorf("%s: the recipe does not say that %s names %s", recipe.heading, path, e.names[0])
				}
			}
		}
	}
}

// counted is where CONTRIBUTING.md says how many files name session:message and its event.
var counted = regexp.MustCompile(
	"`session:message` and its event are named in (\\d+) sources, (\\d+) files of the judges and (\\d+) tests")

// The numbers of files in CONTRIBUTING.md for a command with an event of its own are true.
func TestFilesOfACommandWithItsEvent(t *testing.T) {
	page, err := os.ReadFile(contributing)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		`"session:message"`, "MessageSession", `"session message":`, `"maestro.session.messaged.v1"`, "SessionMessaged",
	}
	var sources, judges, tests []string
	for _, path := range slices.Sorted(maps.Keys(naming(goFiles(t), names))) {
		switch {
		case strings.HasSuffix(path, "_gen.go") || path == "internal/tools/imports/recipes_test.go":
		case strings.HasSuffix(path, "_test.go"):
			tests = append(tests, path)
		case isSource(path):
			sources = append(sources, path)
		default:
			judges = append(judges, path)
		}
	}
	said := counted.FindSubmatch(page)
	if said == nil {
		t.Fatal("CONTRIBUTING.md gives no figure of session:message")
	}
	for i, of := range [][]string{sources, judges, tests} {
		if want := strconv.Itoa(len(of)); string(said[i+1]) != want {
			t.Errorf("CONTRIBUTING.md says %s, but %s name it: %s", said[i+1], want, strings.Join(of, " "))
		}
	}
}

// isSource reports whether a recipe must name a file: it is not of a judge, a test tool or the routes of older clients.
func isSource(path string) bool {
	for _, other := range []string{"internal/oracle/", "internal/testing/", "internal/measure/", "api/compat/"} {
		if strings.HasPrefix(path, other) {
			return false
		}
	}
	return !strings.HasSuffix(path, "_test.go")
}

// goFiles returns the content of all our Go files, by path.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Dir(contributing)
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		files[filepath.ToSlash(path)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// naming returns the files that contain one of these names, as a quoted text or as a word.
func naming(files map[string]string, names []string) map[string]bool {
	found := map[string]bool{}
	for _, name := range names {
		named := regexp.MustCompile(`\b` + name + `\b`)
		if strings.HasPrefix(name, `"`) {
			named = regexp.MustCompile(regexp.QuoteMeta(name))
		}
		for path, content := range files {
			if strings.Contains(content, name) && named.MatchString(content) {
				found[path] = true
			}
		}
	}
	return found
}

// The event, which the command shares, and the manifest declare the fields about a spawned session's agent. Only code
// that checks, uses or shows these fields names them too.
func TestFilesOfASpawnsFields(t *testing.T) {
	want := map[string][]string{
		"permissionMode": {
			"commands/spawn.go",
			"commands/spawnlike.go",   // another mode than the other session's has other commands
			"commands/spawnwithin.go", // a child has at most its parent's
			"events/session.go",
			"internal/cli/manifest.go",
			"internal/cli/workplace.go", // who only reads commits nothing
			"internal/oracle/asked.go",
			"internal/oracle/options.go",
			"internal/testing/simulation/bounds.go",
			"internal/testing/simulation/wish.go",
			"service/manifestgenerate.go", // a child has at most its parent's
			"service/manifestgiven.go",    // it decides what a read-only worker may do
			"service/manifestmade.go",     // some agents cannot ask
			"workers/agent/claude.go",     // the CLI's argument has the same name
			"workers/agent/options.go",
			"workers/manifest/axes.go",
			"workers/manifest/manifest.go",
			"workers/prompt/system.go",
			"workers/prompt/task.go",
			"workers/supervisor/boundary.go",
			"workers/supervisor/prepare.go",
			"workers/supervisor/session.go",
		},
		"thinkingMode": {
			"commands/spawn.go",
			"events/session.go",
			"workers/agent/options.go",
			"workers/manifest/manifest.go",
			"workers/prompt/task.go",
			"workers/supervisor/session.go",
		},
		"maxTurns": {
			"events/session.go",
			"workers/agent/claude.go", // the CLI's argument has the same name
			"workers/agent/options.go",
			"workers/manifest/manifest.go",
			"workers/prompt/task.go",
			"workers/supervisor/session.go",
		},
	}
	files := goFiles(t)
	for name, want := range want {
		var have []string
		flag := strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, "-$0"))
		names := []string{name, strings.ToUpper(name[:1]) + name[1:], flag}
		for _, path := range slices.Sorted(maps.Keys(naming(files, names))) {
			if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, "_gen.go") {
				have = append(have, path)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s is named in %v, want %v", name, have, want)
		}
	}
}

// timeoutOfSpawn declares how long a session may take, in milliseconds.
var timeoutOfSpawn = regexp.MustCompile("\\bTimeout +int64 +`json:\"timeout\\b")

// The timeout of a session is declared only by the command, its event, the manifest, the request for a manifest, and
// the judges.
func TestFilesOfASpawnsTimeout(t *testing.T) {
	var have []string
	for path, content := range goFiles(t) {
		if !strings.HasSuffix(path, "_test.go") && timeoutOfSpawn.MatchString(content) {
			have = append(have, path)
		}
	}
	slices.Sort(have)
	if want := []string{
		"commands/spawn.go",
		"events/session.go",
		"internal/oracle/asked.go",
		"internal/oracle/spawn.go",
		"internal/testing/simulation/wish.go",
		"service/wire/manifest.go",
		"workers/manifest/manifest.go",
	}; !slices.Equal(have, want) {
		t.Errorf("the timeout is declared in %v, want %v", have, want)
	}
}
