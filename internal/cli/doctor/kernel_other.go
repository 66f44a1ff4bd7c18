//go:build !linux

package doctor

import "context"

// lookAtKernel says whether the kernel has Landlock.
func lookAtKernel(context.Context, *examination) []Finding {
	return []Finding{landlock.found("Landlock is off: only Linux has it",
		"the system cannot confine what agents read and write with it",
		"run agents on Linux if they are to be confined")}
}
