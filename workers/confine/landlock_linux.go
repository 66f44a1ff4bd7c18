package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	readRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	// deviceRights are those of files that exist and cannot be replaced.
	deviceRights = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev
	// writeRights do not include the creation of devices.
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir |
		ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
		ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSResolveUnix
	// fileRights are those that a rule for a file, not a directory, may contain.
	fileRights = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// Versions of Landlock that matter here. Older ones cannot refuse to truncate files.
const (
	oldestLandlock    = 3
	landlockPorts     = 4
	landlockIoctl     = 5
	landlockScopes    = 6
	landlockSockets   = 9
	newestLandlock    = 9 // what later versions add is not used
	scopesErratum     = 0x2
	rightsOfTheOldest = 15 // bits
)

// kernelLandlock returns the version of Landlock that this kernel has and that this package uses; 0 if none.
func kernelLandlock() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil || version < oldestLandlock {
		return 0
	}
	if errata, err := ll.LandlockGetErrata(); version >= landlockScopes && (err != nil || errata&scopesErratum == 0) {
		return landlockIoctl // its scope of signals separates the threads of a process from each other
	}
	return min(version, newestLandlock)
}

// handled returns the rights on files that a version knows. A ruleset refuses each of them unless a rule grants it.
func handled(version int) uint64 {
	rights := uint64(1)<<rightsOfTheOldest - 1
	if version >= landlockIoctl {
		rights |= ll.AccessFSIoctlDev
	}
	if version >= landlockSockets {
		rights |= ll.AccessFSResolveUnix
	}
	return rights
}

// rules are a ruleset of Landlock that is ready to be applied. Nil rules restrict nothing.
type rules struct {
	fd      int
	rights  uint64
	places  places
	mounted bool
}

// newRules builds the ruleset for a request.
func newRules(r request, ps places, namespaces bool) (*rules, error) {
	version := landlockVersion(r.Layers)
	ports := slices.Contains(r.Layers, NetworkPorts)
	if version == 0 {
		if ports {
			return nil, fmt.Errorf("the layer %s needs Landlock", NetworkPorts)
		}
		return nil, nil
	}
	layer := landlock(version)
	if version < 0 || version > kernelLandlock() {
		return nil, fmt.Errorf("the layer %s: this kernel has %s", layer, landlock(kernelLandlock()))
	}
	attr := ll.RulesetAttr{HandledAccessFS: handled(version)}
	if version >= landlockScopes {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if ports {
		if version < landlockPorts || !slices.Contains(r.Layers, Seccomp) {
			return nil, fmt.Errorf("the layer %s needs %s and %s", NetworkPorts, landlock(landlockPorts), Seccomp)
		}
		attr.HandledAccessNet = ll.AccessNetConnectTCP
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("the layer %s: %w", layer, err)
	}
	unix.CloseOnExec(fd)
	rs := &rules{
		fd:      fd,
		rights:  attr.HandledAccessFS,
		places:  ps,
		mounted: namespaces,
	}
	if err := rs.fill(r, ports); err != nil {
		rs.close()
		return nil, fmt.Errorf("the layer %s: %w", layer, err)
	}
	return rs, nil
}

// fill adds a rule for everything that the places allow.
func (rs *rules) fill(r request, ports bool) error {
	for _, p := range rs.places {
		if p.access == hidden {
			continue
		}
		if err := rs.grant(p.path, p.access); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	if rs.mounted {
		// Nothing hidden has a name in these mounts, so all directories can be listed.
		if err := rs.allow("/", ll.AccessFSReadDir); err != nil {
			return err
		}
	}
	if !ports {
		return nil
	}
	for _, port := range r.Policy.Ports {
		attr := ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(port)}
		if err := ll.LandlockAddNetPortRule(rs.fd, &attr, 0); err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
	}
	return nil
}

// grant allows a path and everything below it. A rule cannot have exceptions: if something below a directory is hidden,
// its entries are allowed one by one, except those that are places of their own.
//
// A directory that the command may change is an exception where mounts hide what is below it: without a rule of its
// own, nothing could be created in it.
func (rs *rules) grant(path string, a access) error {
	if !rs.places.hides(path) || a == writable && rs.mounted {
		return rs.allow(path, rightsOf(a))
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // the command could not read it either
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below := filepath.Join(path, entry.Name())
		if entry.Type() == fs.ModeSymlink || rs.places.has(below) {
			continue // a link may be read without a right, and leads to what has a rule or has none
		}
		if err := rs.grant(below, a); err != nil {
			return err
		}
	}
	return nil
}

func rightsOf(a access) uint64 {
	switch a {
	case readable:
		return readRights
	case socket:
		return readRights | ll.AccessFSResolveUnix
	case device:
		return deviceRights
	case writable:
		return writeRights
	default:
		return 0
	}
}

// allow adds a rule. A file that has disappeared, or that this user cannot reach, needs none.
func (rs *rules) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	switch modeOf(fd) {
	case unix.S_IFLNK:
		return nil // it became one after it was listed
	case unix.S_IFDIR:
	default:
		rights &= fileRights
	}
	attr := ll.PathBeneathAttr{AllowedAccess: rights & rs.rights, ParentFd: fd}
	if attr.AllowedAccess == 0 {
		return nil
	}
	return ll.LandlockAddPathBeneathRule(rs.fd, &attr, 0)
}

// apply restricts this thread and the processes that it starts.
func (rs *rules) apply() error {
	if rs == nil {
		return nil
	}
	// Landlock requires it of whoever is not privileged.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return ll.LandlockRestrictSelf(rs.fd, 0)
}

func (rs *rules) close() {
	if rs != nil {
		_ = unix.Close(rs.fd)
	}
}
