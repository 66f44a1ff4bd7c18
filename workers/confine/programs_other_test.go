//go:build !linux

package confine

func program(string, []string) int { return 2 }
