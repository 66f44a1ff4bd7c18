package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// diskCmd mounts, fills and freezes small disks.
//
//	disk mount DIR SIZE   mounts a disk of SIZE, such as 40m, on DIR
//	disk resize DIR SIZE  makes it larger or smaller
//	disk freeze DIR       makes it read-only
func diskCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: disk mount DIR SIZE | resize DIR SIZE | freeze DIR")
	}
	dir := ts.MkAbs(args[1])
	switch args[0] {
	case "mount":
		ts.Check(os.MkdirAll(dir, 0o700))
		ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+args[2]))
		ts.Defer(func() { ts.Check(unix.Unmount(dir, unix.MNT_DETACH)) })
	case "resize":
		ts.Check(unix.Mount("", dir, "", unix.MS_REMOUNT, "size="+args[2]))
	case "freeze":
		ts.Check(unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
}

// canMount reports whether this process may mount a disk.
func canMount(t *testing.T) bool {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Logf("nothing can be mounted here: %v", err)
		return false
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Error(err)
	}
	return true
}
