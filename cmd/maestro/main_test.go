package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the tests run the real program: this binary is it, under the name maestro.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"maestro": main})
}
