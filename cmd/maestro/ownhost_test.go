package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
)

var ownHosts atomic.Uint32

// ownHost is an address of this machine at which nothing else listens: no other test takes a port there while the
// server that had it is down.
func ownHost() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1" // elsewhere, a machine may have no other
	}
	n := ownHosts.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%254, n/250%250, 1+n%250)
}
