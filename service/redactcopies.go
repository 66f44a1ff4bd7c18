package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"maestro/internal/safetext"
	"maestro/projections"
)

// copiesNamed is how many manifests that hold a redacted text are named.
const copiesNamed = 10

// copiesOf says which manifests hold a text that is about to be removed: each is a text of its own, and has to be
// removed like it.
func (s *Service) copiesOf(ctx context.Context, digest string) (warnings []string) {
	if s.Blobs == nil {
		return nil
	}
	text, err := s.Blobs.Blob(ctx, digest)
	if err != nil {
		return nil // it was removed before
	}
	var manifests map[string]string
	s.Handler.View(func(state *projections.State) { manifests = state.Manifests() })
	found := 0
	for _, manifest := range slices.Sorted(maps.Keys(manifests)) {
		content, err := s.Blobs.Blob(ctx, manifest)
		if err != nil || manifest == digest || !holds(content, string(text)) {
			continue
		}
		if found++; found <= copiesNamed {
			warnings = append(warnings, fmt.Sprintf("the manifest of session %s holds the text too: "+
				"`maestro audit redact %s --reason \"…\"` removes it", manifests[manifest], safetext.Quoted(manifest)))
		}
	}
	if found > copiesNamed {
		warnings = append(warnings, fmt.Sprintf("%d more manifests hold the text: remove these, and repeat the "+
			"command with one of them", found-copiesNamed))
	}
	return warnings
}

// asidesOf names the copies of the store that a start set aside: nothing removes a text from them.
func (s *Service) asidesOf() (warnings []string) {
	if s.TextCopies == nil {
		return nil
	}
	copies, err := s.TextCopies()
	for _, dir := range copies {
		warnings = append(warnings, "a copy of a damaged store may still hold the text: delete it when you need it no "+
			"more, with "+safetext.Line("rm", "-r", dir))
	}
	if err != nil {
		warnings = append(warnings, "the copies of damaged stores in the home could not all be read, and may hold the "+
			"text: see `maestro doctor`")
	}
	return warnings
}

// holds reports whether a text is among those of a manifest.
func holds(manifest []byte, text string) bool {
	var value any
	if json.Unmarshal(manifest, &value) != nil {
		return strings.Contains(string(manifest), text)
	}
	for left := []any{value}; len(left) > 0; {
		value, left = left[len(left)-1], left[:len(left)-1]
		switch value := value.(type) {
		case string:
			if strings.Contains(value, text) {
				return true
			}
		case []any:
			left = append(left, value...)
		case map[string]any:
			left = slices.AppendSeq(left, maps.Values(value))
		}
	}
	return false
}
