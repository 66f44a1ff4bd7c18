package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStartingMakesLittle: every run of the command line initialises every package, and a fleet runs it all the time.
// Whatever few runs need, such as a table or a compiled pattern, should be created when it is first needed.
func TestStartingMakesLittle(t *testing.T) {
	const mostBytes, mostAllocations = 32 << 10, 200
	var trace bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "maestro", "version")
	cmd.Env, cmd.Stderr = append(os.Environ(), "GODEBUG=inittrace=1"), &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(trace.String()) {
		var name string
		var at, took float64
		var size, allocations int
		_, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs",
			&name, &at, &took, &size, &allocations)
		if err != nil || !strings.HasPrefix(name, "maestro/") || name == "maestro/cmd/maestro" { // has the tests too
			continue
		}
		packages++
		if size > mostBytes || allocations > mostAllocations {
			t.Errorf("the initialisation of %s allocates %d bytes in %d pieces", name, size, allocations)
		}
	}
	if packages < 10 {
		t.Errorf("the trace names %d packages:\n%s", packages, trace.String())
	}
}
