package doctor

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// lookAtKernel says whether the kernel has Landlock.
func lookAtKernel(context.Context, *examination) []Finding {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION: return the version of the interface, create nothing
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if errno != 0 {
		return []Finding{landlock.found("Landlock is off: "+errno.Error(),
			"the kernel cannot confine what agents read and write",
			"use Linux 5.13 or newer, and boot with `lsm=landlock` in front of the other modules")}
	}
	return []Finding{landlock.found(fmt.Sprintf("Landlock is on, version %d of its interface", abi),
		"the kernel can confine what agents read and write", "no action is needed")}
}
