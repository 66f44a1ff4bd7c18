package confine

import (
	"fmt"
	"os"
	"testing"
)

// TestMain is agent-exec and the programs of the tests too: a confined command has to be another process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent-exec":
			code, err := Exec()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			os.Exit(code)
		case "program":
			os.Exit(program(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(m.Run())
}
