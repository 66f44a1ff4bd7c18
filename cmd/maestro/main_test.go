package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const quickEnd = "atexit_sleep_ms=0"

// programs are what the tests run as real processes.
var programs = map[string]func(){"maestro": main, "hostile": hostile}

// TestMain lets the tests run the real program: this binary is it, under the name maestro.
func TestMain(m *testing.M) {
	// A program with the race detector waits a second before it ends; hundreds of them end here.
	if err := os.Setenv("GORACE", quickEnd); err != nil {
		panic(err)
	}
	testscript.Main(m, programs)
}
