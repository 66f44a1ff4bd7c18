package service

import (
	"context"
	"fmt"

	"maestro/engine"
	"maestro/workers/manifest"
)

// rendered is how many manifests are collected, read and rendered concurrently, each for another account; the others
// wait. One takes a few times 16 MiB.
const rendered = 2

// blobSizes is what a store of blobs may answer without reading them.
type blobSizes interface {
	BlobSize(ctx context.Context, digest string) (int64, error)
}

// longText is a text of one of the session's own tasks that is too long for the state: a blob holds it completely.
type longText struct {
	task          int // its index
	field, digest string
}

// textIn returns the text as the source holds it.
func (l longText) textIn(from *manifest.Source) *string {
	if l.field == "description" {
		return &from.Tasks[l.task].Description
	}
	return &from.Tasks[l.task].InitialPrompt
}

// makeManifest collects the content of a manifest and creates it, when it is the call's turn: few do so concurrently,
// and a waiting call holds nothing yet. If the texts are too long for a manifest, it fails with a
// *manifest.InvalidError before it reads anything. The caller is charged for what was read, and for what was rendered
// even if the manifest is then refused.
func (s *Service) makeManifest(ctx context.Context, c *Caller, g *gathering) (*manifest.Manifest, error) {
	place, err := s.rendering.take(ctx, c)
	if err != nil {
		return nil, err
	}
	defer place.leave()
	if err := s.gather(ctx, c, g); err != nil {
		return nil, err
	}
	texts, err := s.fits(ctx, g.from, g.long)
	if err != nil {
		return nil, err
	}
	// The texts, the document, and the parsed document.
	if err := g.hold(c, 3*int64(texts)); err != nil {
		return nil, err
	}
	if err := s.readWhole(ctx, c, g.from, g.long); err != nil {
		return nil, err
	}
	g.from.Agents = s.agentNames()
	m, err := manifest.Generate(*g.from)
	if err != nil {
		c.worked(g.from.Least() / bytesPerStep)
	}
	return m, err
}

// fits refuses texts that are together too long for a manifest, as far as their lengths are known without reading them,
// and returns their total length.
func (s *Service) fits(ctx context.Context, from *manifest.Source, long []longText) (texts int, err error) {
	texts = from.Least()
	if err := manifest.TooLong(texts); err != nil {
		return texts, err
	}
	sizes, known := s.Blobs.(blobSizes)
	if !known {
		return texts, nil
	}
	for _, l := range long {
		if l.field != "description" {
			continue
		}
		size, err := sizes.BlobSize(ctx, l.digest)
		if err != nil {
			return texts, nil //nolint:nilerr // reading it reports the error
		}
		texts += int(size) - len(*l.textIn(from)) // in place of its beginning
		if err := manifest.TooLong(texts); err != nil {
			return texts, err
		}
	}
	return texts, nil
}

// readWhole reads the texts that are stored elsewhere, until they are too long for a manifest.
func (s *Service) readWhole(ctx context.Context, c *Caller, from *manifest.Source, long []longText) error {
	read, paid := 0, 0
	charge := func(bytes int) { paid += bytes }
	defer func() { c.worked(paid / bytesPerStep) }()
	for _, l := range long {
		text, err := s.readBlob(ctx, l.digest, charge)
		if redactedText(err) {
			return isRedacted(err, "The "+fieldWords[l.field]+" of task '"+from.Tasks[l.task].ID+"'",
				"give the task another one, without what had to be removed: `maestro task update "+
					from.Tasks[l.task].ID+" --"+fieldWords[l.field]+" \"…\"`")
		}
		if err != nil {
			return &engine.UnavailableError{
				Why:  fmt.Sprintf("the %s of task '%s' could not be read", l.field, from.Tasks[l.task].ID),
				Next: "try again with the same key",
				Err:  err,
			}
		}
		read += len(text)
		*l.textIn(from) = string(text)
		if err := manifest.TooLong(read); l.field == "description" && err != nil {
			return err
		}
	}
	return nil
}
