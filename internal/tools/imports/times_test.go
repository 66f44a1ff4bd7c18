package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// timeNames are the JSON names of fields that are times.
var timeNames = regexp.MustCompile(
	`^(?i:at|time|timestamp|since|until|deadline|first|last|lastHeard|lastActivity)$|` +
		`[a-z](At|Since|Until|Time|Timestamp)$`,
)

// numbersForTimes are the fields in which a time may be a plain number, with the reason.
var numbersForTimes = map[string]string{
	"api/compat SessionEvent.timestamp":     "a shape that only older clients read",
	"api/compat SessionQueueHead.createdAt": "a shape that only older clients read",
	"api/compat SessionQueueHead.updatedAt": "a shape that only older clients read",
	"commands CreateToken.expiresAt":        "what a client asks for; the command line takes RFC 3339",
	"events TokenCreated.expiresAt":         "the payload of an event, which is for good",
	"events TokenUsed.loginUntil":           "the payload of an event, which is for good",
	"commands UseToken.loginUntil":          "what the server asks of itself",
	"events SessionLost.lastheard":          "the payload of an event, which is for good",
	"events SessionTimedOut.deadline":       "the payload of an event, which is for good",
	"events SessionStuck.since":             "the payload of an event, which is for good",
	"events SessionResumed.deadline":        "the payload of an event, which is for good",
	"commands MarkStuck.since":              "what a runner says; its event has the same",
	"service/wire EventSlice.first":         "a sequence",
	"service/wire EventSlice.last":          "a sequence",
	"service TokenUse.at":                   "a file of the server's own",
	"bus streamNote.last":                   "a sequence",
	"internal/oracle":                       "the second judge has shapes of its own, and nobody prints them",
	"internal/testing":                      "tests",
}

// TestTimesHaveTheirType: a field of a shape that is a time is an events.Millis, a time.Time or text, not a number that
// the command line would print as one.
func TestTimesHaveTheirType(t *testing.T) {
	seen := map[string]bool{}
	found := 0
	for path, fields := range numbersIn(t, "../../..") {
		for _, field := range fields {
			found++
			reasons := []string{path + " " + field}
			for dir := path; dir != "."; dir = filepath.Dir(dir) {
				reasons = append(reasons, dir)
			}
			at := slices.IndexFunc(reasons, func(reason string) bool { return numbersForTimes[reason] != "" })
			if at < 0 {
				t.Errorf("%s: %s is a time and a plain number: make it an events.Millis", path, field)
				continue
			}
			seen[reasons[at]] = true
		}
	}
	for reason := range numbersForTimes {
		if !seen[reason] {
			t.Errorf("%s is listed, but does not exist", reason)
		}
	}
}

// numbersIn returns the fields of shapes that have the name of a time and are numbers, by package directory.
func numbersIn(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			name := "struct"
			shape, ok := node.(*ast.StructType)
			if spec, named := node.(*ast.TypeSpec); named {
				shape, ok = spec.Type.(*ast.StructType)
				name = spec.Name.Name
			}
			if ok {
				found[dir] = append(found[dir], numbersOf(name, shape)...)
			}
			return !ok || name == "struct"
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func numbersOf(name string, shape *ast.StructType) (found []string) {
	for _, field := range shape.Fields.List {
		of := field.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		number, ok := of.(*ast.Ident)
		if !ok || field.Tag == nil || !slices.Contains([]string{"int", "int64", "float64", "uint64"}, number.Name) {
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		if json, _, _ := strings.Cut(tag.Get("json"), ","); timeNames.MatchString(json) {
			found = append(found, name+"."+json)
		}
	}
	return found
}
