package confine

import (
	"slices"
	"testing"
)

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]struct {
		network Network
		ports   []uint16
		wrong   bool
	}{
		"":             {network: Open},
		"open":         {network: Open},
		"none":         {network: None},
		"443":          {network: Ports, ports: []uint16{443}},
		"8080,443,443": {network: Ports, ports: []uint16{443, 8080}},
		"1,65535":      {network: Ports, ports: []uint16{1, 65535}},
		"0":            {wrong: true},
		"65536":        {wrong: true},
		"-1":           {wrong: true},
		"+1":           {wrong: true},
		"080":          {wrong: true},
		"443,":         {wrong: true},
		"443, 80":      {wrong: true},
		"None":         {wrong: true},
		"ports":        {wrong: true},
		"https":        {wrong: true},
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17": {wrong: true},
	} {
		network, ports, err := ParseNetwork(text)
		if network != want.network || !slices.Equal(ports, want.ports) || (err != nil) != want.wrong {
			t.Errorf("%q: %q, %v, %v", text, network, ports, err)
		}
	}
}

// A policy that restricts the network is not kept by a machine that lacks the layer.
func TestRestricts(t *testing.T) {
	all := []Layer{Namespaces, NetworkPorts, NetworkNone}
	for network, layer := range map[Network]Layer{Ports: NetworkPorts, None: NetworkNone} {
		p := Policy{Network: network}
		if !p.Restricts(p.Layers(all)) {
			t.Errorf("%s: the layers do not do", network)
		}
		if p.Restricts(p.Layers([]Layer{Namespaces})) {
			t.Errorf("%s: it does without %s", network, layer)
		}
	}
	if !(Policy{}).Restricts(nil) {
		t.Error("an open network needs no layer")
	}
}
