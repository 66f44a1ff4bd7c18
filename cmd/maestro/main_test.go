package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const quickEnd = "atexit_sleep_ms=0"

// programs are the programs that the tests run as real processes.
var programs = map[string]func(){"maestro": mainWithoutEmptyVariables, "hostile": hostile}

// mainWithoutEmptyVariables is main for scripts, which cannot unset a variable: it treats an empty variable as unset.
func mainWithoutEmptyVariables() {
	for _, name := range []string{"MAESTRO_SESSION_ID", "MAESTRO_TOKEN"} {
		if os.Getenv(name) == "" {
			_ = os.Unsetenv(name) // it never fails
		}
	}
	main()
}

// TestMain lets the tests run the real program: this binary acts as the program when it is called maestro.
func TestMain(m *testing.M) {
	// A program with the race detector waits a second before it exits, and hundreds of them run here.
	if err := os.Setenv("GORACE", quickEnd); err != nil {
		panic(err)
	}
	testscript.Main(m, programs)
}
