package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// access is what a command may do with a path and with everything below it, up to the next place.
type access int

const (
	hidden   access = iota // nothing
	readable               // read and execute
	socket                 // connect to it
	device                 // read and write what exists
	writable               // everything
)

// place is a path from which on a command has other access than above it.
type place struct {
	path   string
	access access
	// from is the directory that appears at this path, if it is another one.
	from string
}

// places are sorted: a place comes after all that contain it.
type places []place

// places returns what the policy means for each path. Symbolic links are resolved, because the kernel's rules are about
// files. listening are the Unix sockets of the machine.
func (p Policy) places(namespaces bool, self string, listening []string) (places, error) {
	byPath := map[string]place{}
	set := func(a access, paths ...string) {
		for _, path := range paths {
			if real, err := resolve(path); err == nil {
				byPath[real] = place{path: real, access: a}
			}
		}
	}
	set(readable, "/")
	set(hidden, expand("/", systemSecrets)...)
	set(hidden, "/home", "/root")
	set(readable, "/home/linuxbrew", p.Home)
	set(hidden, Secrets(p.Home)...)
	if namespaces {
		set(hidden, "/run", "/var/run", "/tmp", "/var/tmp")
		set(readable, needed()...)
		set(device, "/dev", "/dev/pts")
		set(writable, "/dev/shm")
	} else {
		set(hidden, "/dev")
		set(device, devices()...)
		set(writable, "/dev/shm")
	}
	set(readable, p.Exposed...)
	set(hidden, p.Hidden...)
	if self != "" {
		set(readable, self)
	}
	if namespaces && p.Temp != "" {
		temp, err := filepath.EvalSymlinks(p.Temp)
		if err != nil {
			return nil, fmt.Errorf("%w: create it before the command starts", err)
		}
		for _, path := range []string{"/tmp", "/var/tmp"} {
			if real, err := resolve(path); err == nil {
				byPath[real] = place{path: real, access: writable, from: temp}
			}
		}
	}
	if err := p.setOwn(byPath); err != nil {
		return nil, err
	}
	if namespaces {
		hideSockets(byPath, listening)
	}
	return sorted(byPath), nil
}

// setOwn adds what the policy gives to the command itself. A path below a directory that the command may change must
// not lead out of it: an earlier run of the command may have replaced it by a symbolic link. Whoever made the policy
// has checked where the directories of ReadWrite and Reads are, so these may not lead anywhere else by now.
func (p Policy) setOwn(byPath map[string]place) error {
	own := []struct {
		access access
		paths  []string
		fixed  bool
	}{
		{writable, p.writable(), true},
		{readable, p.Reads, true},
		{readable, p.ReadOnly, false},
		{socket, p.Sockets, false},
	}
	for _, given := range own {
		for _, path := range given.paths {
			if path == "" {
				continue
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return fmt.Errorf("%w: create it before the command starts", err)
			}
			if given.fixed && real != filepath.Clean(path) {
				return fmt.Errorf("%s leads to %s, through a symbolic link: name that directory itself", path, real)
			}
			for _, root := range p.writable() {
				if err := stays(root, path, real); err != nil {
					return err
				}
			}
			byPath[real] = place{path: real, access: given.access}
		}
	}
	return nil
}

// stays returns an error if a path that is below a root is in fact elsewhere.
func stays(root, path, real string) error {
	if root == "" || !below(filepath.Clean(path), filepath.Clean(root)) {
		return nil
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	if want := filepath.Join(realRoot, rel); want != real {
		return fmt.Errorf("%s leads to %s, through a symbolic link below %s, which the command could change: "+
			"remove the link", path, real, root)
	}
	return nil
}

// hideSockets hides the sockets that others listen on, except those that the command may reach anyway.
func hideSockets(byPath map[string]place, listening []string) {
	before := sorted(byPath)
	for _, path := range listening {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // nobody can connect to it
		}
		if _, given := byPath[real]; !given && before.at(real).access == readable {
			byPath[real] = place{path: real, access: hidden}
		}
	}
}

func sorted(byPath map[string]place) (ps places) {
	for _, p := range byPath {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b place) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), cmp.Compare(a.path, b.path))
	})
	// "/" has as many slashes as "/tmp", and sorts before it
	return ps
}

// at returns the place that decides about a path.
func (ps places) at(path string) place {
	for _, p := range slices.Backward(ps) {
		if p.path == path || below(path, p.path) {
			return p
		}
	}
	return place{path: "/", access: hidden}
}

// above returns the place that contains another one.
func (ps places) above(p place) place {
	if p.path == "/" {
		return p
	}
	return ps.at(filepath.Dir(p.path))
}

// has returns the place at exactly this path.
func (ps places) has(path string) bool {
	return slices.ContainsFunc(ps, func(p place) bool { return p.path == path })
}

// hides reports whether something below a directory is hidden.
func (ps places) hides(dir string) bool {
	return slices.ContainsFunc(ps, func(p place) bool { return p.access == hidden && below(p.path, dir) })
}

// below reports whether a path is below a directory. Both are clean.
func below(path, dir string) bool {
	if dir == "/" {
		return path != "/"
	}
	return len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// resolve returns the path without symbolic links. The end of the path need not exist.
func resolve(path string) (string, error) {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || path == "/" {
		return real, err
	}
	dir, err := resolve(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// needed are paths below /run that programs cannot do without: the address of the name server, and the programs
// themselves on a system that keeps them there.
func needed() []string {
	paths := []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver"}
	for _, path := range []string{"/etc/resolv.conf", "/etc/hosts", "/etc/localtime"} {
		if real, err := filepath.EvalSymlinks(path); err == nil && below(real, "/run") {
			paths = append(paths, real)
		}
	}
	return paths
}

// devices are those that a command may use. None of them reaches anything but the command's own terminal.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}
