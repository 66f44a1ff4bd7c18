//go:build !linux

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func diskCmd(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("no disk can be mounted here") }

func canMount(*testing.T) bool { return false }
