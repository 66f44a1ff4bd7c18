package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// longest is the longest path that the kernel takes as an address everywhere, with room for its end.
const longest = 100

// Peer is the process at the other end of a connection, as the kernel tells it.
type Peer struct{ PID, UID int }

// Listen creates a unix socket for this user alone, in a directory that exists. A socket that a killed process left
// there is replaced.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replace a socket: %w", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", short)
	if err != nil {
		return nil, fmt.Errorf("listen on the socket %s: %w", path, err)
	}
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(short == path)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close a socket to others: %w", err), listener.Close())
	}
	return listener, nil
}

// Dial connects to a unix socket.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return (&net.Dialer{}).DialContext(ctx, "unix", short)
}

// shorten returns a path that the kernel takes as an address: a long one by way of its open directory.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := openPath(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("open the directory of a socket: %w", err)
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path)),
		func() { _ = dir.Close() }, nil
}
