//go:build !linux

package cli

// sessionAbove gives "": this system does not show the environment of other processes.
func sessionAbove(int) (session string) { return "" }
