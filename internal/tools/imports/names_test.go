package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// namesOnce are texts that only service/wire/environment.go may contain: the prefixes of tokens, and the names of a
// session's variables.
var namesOnce = []string{
	"mss_", "msu_", "MAESTRO_SESSION_ID", "MAESTRO_PROJECT_ID", "MAESTRO_TOKEN", "MAESTRO_API_URL",
	"MAESTRO_SERVER_URL", "MAESTRO_STRATEGY", "MAESTRO_MANIFEST_PATH",
}

// The prefixes of tokens and the names of a session's variables are written once; other sources use the constants.
func TestNamesOfASessionAreWrittenOnce(t *testing.T) {
	const home = "service/wire/environment.go"
	written := map[string]int{}
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/oracle/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value)
			for _, name := range namesOnce {
				if text != name {
					continue
				}
				if written[name]++; path != home {
					t.Errorf("%s writes %q, which is a constant of %s", path, name, home)
				}
			}
			return true
		})
	}
	for _, name := range namesOnce {
		if written[name] != 1 {
			t.Errorf("%q is written %d times", name, written[name])
		}
	}
}
