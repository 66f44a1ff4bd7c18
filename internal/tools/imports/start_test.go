package imports

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command of an agent initialises all packages of the binary. A package may allocate packageBytes and
// packageAllocs for that, and those below may allocate what they need. All together may allocate allBytes and
// allAllocs.
const (
	packageBytes, packageAllocs = 10_000, 100
	allBytes, allAllocs         = 900_000, 6_900
)

// heavy are the packages that initialise more, with the bytes and allocations that they may take. What is ours must
// become lazy (sync.OnceValue, internal/lazyregexp); docs/decisions/0076-a-light-client.md and
// docs/decisions/0102-figures-for-prometheus.md say why the others stay.
var heavy = map[string][2]int{
	// docs/decisions/0101-the-protocol-over-the-routes.md
	"github.com/google/jsonschema-go/jsonschema":                {90_000, 320},
	"github.com/modelcontextprotocol/go-sdk/mcp":                {12_000, 200},
	"github.com/nats-io/nats-server/v2/server":                  {200_000, 1_900},
	"github.com/nats-io/nats.go":                                {28_000, 270},
	"github.com/nats-io/nats.go/jetstream":                      {15_000, 220},
	"github.com/nats-io/jwt/v2":                                 {16_000, 110},
	"github.com/nats-io/nkeys":                                  {16_000, 110},
	"github.com/klauspost/compress/flate":                       {32_000, 100},
	"github.com/json-iterator/go":                               {24_000, 280},
	"go.yaml.in/yaml/v3":                                        {32_000, 340},
	"github.com/prometheus/client_golang/prometheus":            {70_000, 270},
	"github.com/prometheus/client_golang/prometheus/collectors": {12_000, 110},
	"github.com/prometheus/client_model/go":                     {15_000, 100},
	"github.com/prometheus/procfs":                              {100_000, 950},
	"runtime/metrics":                                           {16_000, 100},
	"encoding/gob":                                              {40_000, 550},
	"encoding/xml":                                              {24_000, 100},
	"unicode":                                                   {15_000, 100},
	// docs/decisions/0110-a-sandbox-that-evaluates.md
	"mvdan.cc/sh/v3/fileutil": {16_000, 110},
	"maestro/events":          {10_000, 130},
	"maestro/commands":        {23_000, 100},
	"maestro/internal/cli":    {28_000, 170},
	"maestro/internal/oracle": {21_000, 100},
}

// TestCommandsInitialiseLittle counts what a command allocates before it runs. It counts no time.
func TestCommandsInitialiseLittle(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "maestro")
	// as `make build` does
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "./cmd/maestro")
	build.Dir = "../../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	run := exec.CommandContext(t.Context(), binary, "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	packages, bytes, allocs := 0, 0, 0
	for line := range strings.Lines(string(output)) {
		var name, at, unit, took, ofTime, clock string
		var ownBytes, ownAllocs int
		if n, _ := fmt.Sscanf(line, "init %s %s %s %s %s %s %d bytes, %d allocs",
			&name, &at, &unit, &took, &ofTime, &clock, &ownBytes, &ownAllocs); n != 8 {
			continue
		}
		packages++
		bytes, allocs = bytes+ownBytes, allocs+ownAllocs
		name = strings.ReplaceAll(name, "%2e", ".")
		most, known := heavy[name]
		if !known {
			most = [2]int{packageBytes, packageAllocs}
		}
		if ownBytes > most[0] || ownAllocs > most[1] {
			t.Errorf("%s allocates %d bytes in %d allocations to initialise itself, more than %d in %d",
				name, ownBytes, ownAllocs, most[0], most[1])
		}
	}
	if packages < 50 {
		t.Fatalf("only %d packages initialise themselves: the trace has another form\n%s", packages, output)
	}
	if bytes > allBytes || allocs > allAllocs {
		t.Errorf("all packages allocate %d bytes in %d allocations to initialise themselves, more than %d in %d",
			bytes, allocs, allBytes, allAllocs)
	}
	t.Logf("%d packages, %d bytes, %d allocations", packages, bytes, allocs)
}
