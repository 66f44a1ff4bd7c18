package service

import (
	"bytes"
	"context"

	"maestro/workers/manifest"
)

// The price of parsing a manifest, in addition to that of its bytes: a document of many small members takes far more
// time and memory than one of a few long texts. Usual manifests are below the free amount.
const (
	freeMembers    = 10_000
	stepsPerMember = 2
	memberSize     = 100
)

// parseManifest reads and parses a manifest when it is the call's turn: few do so concurrently. The caller is charged
// for the work, and the memory counts meanwhile. read returns the document. It fails with read's error, with the cause
// of the context's end, or as manifest.Parse does.
func (s *Service) parseManifest(
	ctx context.Context, c *Caller, read func() ([]byte, error),
) (m *manifest.Manifest, length int, err error) {
	place, err := s.rendering.take(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	defer place.leave()
	document, err := read()
	if err != nil {
		return nil, 0, err
	}
	members := membersOf(document)
	c.worked(stepsPerMember * max(members-freeMembers, 0))
	g := &gathering{}
	defer g.free()
	if err := g.hold(c, int64(len(document)+memberSize*members)); err != nil {
		return nil, 0, err
	}
	m, err = manifest.Reader{Agents: s.agentNames()}.Parse(document)
	return m, len(document), err
}

// agentNames returns the names of the configured agents.
func (s *Service) agentNames() []string {
	if s.Agents == nil {
		return nil
	}
	return s.Agents().Names
}

// ConfiguredAgents are the agents that can be named on the server's machine.
type ConfiguredAgents struct {
	Names []string
	// Unguarded are those without a hook: nobody can be asked before they act.
	Unguarded []string
	// Fault says why the configuration cannot be used, which then configures none, and Fix what to do; "" if it can.
	Fault, Fix string
}

// membersOf returns an upper bound of the number of names and values in a JSON document.
func membersOf(document []byte) int {
	return bytes.Count(document, []byte{':'}) + bytes.Count(document, []byte{','})
}
