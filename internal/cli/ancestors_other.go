//go:build !linux

package cli

// sessionAbove returns "": this system does not show the environments of other processes.
func sessionAbove() (session string, err error) { return "", nil }
