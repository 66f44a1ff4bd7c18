//go:build !linux

package confine

func candidates() []candidate { return nil }
