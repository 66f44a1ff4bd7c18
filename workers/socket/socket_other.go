//go:build !linux

package socket

import (
	"errors"
	"net"
	"os"
)

func openPath(dir string) (*os.File, error) { return os.Open(dir) }

// Gone reports false: it is not known here.
func Gone(*net.UnixConn) bool { return false }

// PeerOf fails: it is not known here who is at the other end of a connection.
func PeerOf(*net.UnixConn) (Peer, error) { return Peer{}, errors.ErrUnsupported }
