//go:build !linux

package cli

// sessionAbove returns "": this system does not show the environment of other processes.
func sessionAbove() (session string, err error) { return "", nil }
