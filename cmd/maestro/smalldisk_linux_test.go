package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"maestro/internal/cli"
)

// The program smalldisk is maestro with a limit on the size of files, its first argument, in bytes: a write beyond it
// fails as on a full disk.
func init() {
	programs["smalldisk"] = func() {
		limit, err := strconv.ParseUint(os.Args[1], 10, 64)
		if err == nil {
			err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(cli.ExitInvalid)
		}
		os.Args = append(os.Args[:1], os.Args[2:]...)
		main()
	}
}
