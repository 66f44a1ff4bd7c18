package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Policy says what a confined command may reach. All paths are absolute. Where paths are nested, the longest one that
// contains a file decides.
//
// The command may read everything else on the machine, and write nothing else.
type Policy struct {
	// Home is the home directory of the user, whose Secrets are hidden.
	Home string
	// ReadWrite are directories that the command may read and change.
	ReadWrite []string
	// Reads are directories that the command may read, wherever they are. None is reached through a symbolic link, and
	// neither are those of ReadWrite.
	Reads []string
	// ReadOnly are paths below ReadWrite that must not change. They need the layer Namespaces.
	ReadOnly []string
	// Hidden are files and directories that the command may not read. Without Namespaces, it can create nothing in
	// directories of ReadWrite that contain a hidden one, only in the other directories below them.
	Hidden []string
	// Exposed are paths that the command may read although they are hidden by default: Secrets, other homes, and where
	// Namespaces is active, /tmp, /var/tmp and /run.
	Exposed []string
	// Temp is the command's own directory for temporary files. TMPDIR names it. With Namespaces, it is also what the
	// command sees at /tmp and /var/tmp.
	Temp string
	// Network says how much of the network the command may use.
	Network Network
	// Ports are the TCP ports that the command may connect to if Network is Ports.
	Ports []uint16
	// Sockets are Unix sockets that stay reachable.
	Sockets []string
}

// Network says how much of the network a command may use.
type Network string

const (
	// Open leaves the network as it is.
	Open Network = ""
	// Ports allows TCP connections to the ports of the policy. UDP is not restricted, nor is listening.
	Ports Network = "ports"
	// None leaves a loopback interface of the command's own, and nothing else.
	None Network = "none"
)

// Layer is one mechanism of the kernel that confines a command. The layer of Landlock contains its version:
// "landlock-abi7".
type Layer string

const (
	// Namespaces gives the command its own users, mounts, processes and shared memory: hidden files have no name,
	// other files cannot be changed, and processes outside do not exist.
	Namespaces Layer = "namespaces"
	// Seccomp refuses calls that a command does not need and that would reach around the other layers.
	Seccomp Layer = "seccomp"
	// NoNewPrivileges makes setuid programs ordinary ones, and removes all capabilities.
	NoNewPrivileges Layer = "no-new-privileges"
	// NetworkPorts allows TCP connections to the policy's ports only.
	NetworkPorts Layer = "network-ports"
	// NetworkNone gives the command a network of its own, without a connection to any other.
	NetworkNone Layer = "network-none"

	landlockPrefix = "landlock-abi"
)

// landlock returns the layer of a version of Landlock.
func landlock(version int) Layer { return Layer(fmt.Sprintf("%s%d", landlockPrefix, version)) }

// landlockVersion returns the version of Landlock that the layers name; 0 if they name none.
func landlockVersion(layers []Layer) (version int) {
	for _, layer := range layers {
		if after, ok := strings.CutPrefix(string(layer), landlockPrefix); ok {
			if n, err := fmt.Sscanf(after, "%d", &version); n != 1 || err != nil {
				return -1 // no kernel has it, so that applying it fails
			}
		}
	}
	return version
}

// Layers returns those of the available layers that a command with this policy gets.
func (p Policy) Layers(available []Layer) (active []Layer) {
	for _, layer := range available {
		if layer == NetworkPorts && p.Network != Ports || layer == NetworkNone && p.Network != None {
			continue
		}
		active = append(active, layer)
	}
	return active
}

// Names returns the names of layers, as a claim and a supervisor's configuration have them.
func Names(layers []Layer) (names []string) {
	for _, layer := range layers {
		names = append(names, string(layer))
	}
	return names
}

// KeepFiles reports whether layers keep a command from changing files that its policy does not give it.
func KeepFiles(layers []Layer) bool {
	return slices.Contains(layers, Namespaces) || landlockVersion(layers) > 0
}

// known reports whether this package has a layer of that name, whatever the kernel offers.
func known(layer Layer) bool {
	return slices.Contains([]Layer{Namespaces, Seccomp, NoNewPrivileges, NetworkPorts, NetworkNone}, layer) ||
		landlockVersion([]Layer{layer}) > 0
}

// check returns an error if the policy is not complete, or if layers do not contain what it requires.
func (p Policy) check(layers []Layer) error {
	named := map[string][]string{
		"Home":      {p.Home},
		"Temp":      {p.Temp},
		"ReadWrite": p.ReadWrite,
		"Reads":     p.Reads,
		"ReadOnly":  p.ReadOnly,
		"Hidden":    p.Hidden,
		"Exposed":   p.Exposed,
		"Sockets":   p.Sockets,
	}
	for name, paths := range named {
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				return fmt.Errorf("the policy's %s contains %q: give an absolute path", name, path)
			}
			if !utf8.ValidString(path) { // agent-exec gets it as JSON, and would take another one
				return fmt.Errorf("the policy's %s contains %q: give a path in UTF-8", name, path)
			}
		}
	}
	for _, layer := range layers {
		if !known(layer) {
			return fmt.Errorf("there is no layer %q", layer)
		}
	}
	for _, path := range p.writable() {
		if path = filepath.Clean(path); path == "/" || slices.ContainsFunc(p.Hidden, func(hidden string) bool {
			return filepath.Clean(hidden) == path
		}) {
			return fmt.Errorf("%s cannot be writable: it is the root or hidden too", path)
		}
	}
	switch p.Network {
	case Open:
	case Ports:
		if !slices.Contains(layers, NetworkPorts) {
			return errors.New("the network cannot be restricted to ports: the layer network-ports is missing")
		}
	case None:
		if !slices.Contains(layers, NetworkNone) {
			return errors.New("the network cannot be closed: the layer network-none is missing")
		}
	default:
		return fmt.Errorf("the policy's network is %q: use %q, %q or the empty text", p.Network, Ports, None)
	}
	return nil
}

// writable are the directories that the command may change, each with everything below it.
func (p Policy) writable() []string {
	return append(slices.Clone(p.ReadWrite), p.Temp)
}
