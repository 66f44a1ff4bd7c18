package confine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxPorts bounds the ports of a policy.
const maxPorts = 16

// ParseNetwork reads how much of the network a command may use: "open" or "", "none", or TCP ports such as "443,8080".
func ParseNetwork(text string) (Network, []uint16, error) {
	switch text {
	case "", "open":
		return Open, nil, nil
	case string(None):
		return None, nil, nil
	}
	var ports []uint16
	for field := range strings.SplitSeq(text, ",") {
		port, err := strconv.ParseUint(field, 10, 16)
		if err != nil || port == 0 || field[0] == '0' || field[0] == '+' {
			return Open, nil, fmt.Errorf("%q is none of open, none and TCP ports such as 443,8080", text)
		}
		ports = append(ports, uint16(port))
	}
	if slices.Sort(ports); len(ports) > maxPorts {
		return Open, nil, fmt.Errorf("a command may use at most %d ports, not %d", maxPorts, len(ports))
	}
	return Ports, slices.Compact(ports), nil
}

// Restricts reports whether the layers restrict the network as much as the policy says.
func (p Policy) Restricts(layers []Layer) bool {
	switch p.Network {
	case Open:
		return true
	case Ports:
		return slices.Contains(layers, NetworkPorts)
	case None:
		return slices.Contains(layers, NetworkNone)
	}
	return false
}
