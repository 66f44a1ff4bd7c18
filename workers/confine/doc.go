// Package confine puts a kernel boundary around a command: what it may read, write, signal and connect to. Nothing in
// the command can remove the boundary, and whatever the command starts is behind it as well.
//
// A [Policy] says what the command may reach. [Start] runs `maestro agent-exec`, which receives the policy through a
// pipe, applies the layers, starts the command and stays as its parent; [Exec] is that program. A [Layer] is one
// mechanism of the kernel. [Available] tries each of them on this machine, and [Policy.Layers] picks those that a
// policy uses. A command never runs with fewer layers than Start was given: what cannot be applied is an error.
//
// The layers overlap on purpose. Landlock and the mount namespace both hide and protect files, so that a mistake in one
// of them does not open the boundary, and Landlock alone still holds most of it where user namespaces are forbidden.
// docs/decisions/0112-confinement.md says what each layer does and what remains possible.
//
// Start with policy.go and places.go (what a policy means for each path), then exec_linux.go (the order in which layers
// are applied), mounts_linux.go, landlock_linux.go and seccomp_linux.go. Systems other than Linux offer no layer.
//
// The package imports internal/files. It uses landlock/syscall of go-landlock for the calls of Landlock, and
// golang.org/x/sys/unix for the others.
package confine
