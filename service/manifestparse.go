package service

import (
	"bytes"
	"context"

	"maestro/workers/manifest"
)

// The price of parsing a manifest, beside that of its bytes: a document of many small members takes far longer, and far
// more memory, than one of a few long texts. Usual manifests are below what is free.
const (
	freeMembers    = 10_000
	stepsPerMember = 2
	memberSize     = 100
)

// parseManifest reads a manifest and parses it, when it is the call's turn: few do so at once. The caller is charged
// for the work, and the memory counts meanwhile. read returns the document. It fails with read's error, with what the
// context ended with, or as manifest.Parse does.
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
	m, err = manifest.Parse(document)
	return m, len(document), err
}

// membersOf returns how many names and values a JSON document has at most.
func membersOf(document []byte) int {
	return bytes.Count(document, []byte{':'}) + bytes.Count(document, []byte{','})
}
