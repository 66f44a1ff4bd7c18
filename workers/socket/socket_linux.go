package socket

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// openPath opens a directory only as a place, which needs no right to read it.
func openPath(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// PeerOf returns the process at the other end of a connection. The kernel notes it when the connection is made.
func PeerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var who *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		who, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, os.NewSyscallError("getsockopt", failed)
	}
	return Peer{PID: int(who.Pid), UID: int(who.Uid)}, nil
}
