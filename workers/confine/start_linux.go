package confine

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported says that this system can have layers.
const supported = true

// attributes adds what the layers need to the attributes of a new process.
func attributes(given *syscall.SysProcAttr, layers []Layer) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{}
	if given != nil {
		*attr = *given
	}
	if !slices.Contains(layers, Namespaces) {
		if slices.Contains(layers, NetworkNone) {
			return nil, fmt.Errorf("the layer %s needs the layer %s", NetworkNone, Namespaces)
		}
		return attr, nil
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if slices.Contains(layers, NetworkNone) {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	attr.GidMappingsEnableSetgroups = false
	uids, err := mappings("/proc/self/uid_map", os.Geteuid())
	if err != nil {
		return nil, err
	}
	gids, err := mappings("/proc/self/gid_map", os.Getegid())
	if err != nil {
		return nil, err
	}
	attr.UidMappings, attr.GidMappings = uids, gids
	// A user other than root would lose them when agent-exec starts.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return attr, nil
}

// mappings keeps all ids as they are, so that files keep their owners. Only root may keep more than its own.
func mappings(file string, own int) (kept []syscall.SysProcIDMap, err error) {
	if os.Geteuid() != 0 {
		return []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, size int64
		if _, err := fmt.Sscan(line, &first, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		kept = append(kept, syscall.SysProcIDMap{ContainerID: int(first), HostID: int(first), Size: int(size)})
	}
	return kept, nil
}

// listeningSockets returns the paths of the Unix sockets that somebody has bound. The list is that of this process's
// network; a command without a network would not see it.
func listeningSockets(wanted bool) (paths []string) {
	if !wanted {
		return nil
	}
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // a kernel without Unix sockets
	}
	const columns = 8
	for line := range bytes.Lines(text) {
		fields := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), columns)
		if path := string(fields[len(fields)-1]); len(fields) == columns && strings.HasPrefix(path, "/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
