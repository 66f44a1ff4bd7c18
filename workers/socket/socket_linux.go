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

// Gone reports whether the other end of a connection was closed. What it had sent before can still be read.
func Gone(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(polled, 0)
		gone = err == nil && n > 0 && polled[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
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
