package projections

import (
	"maps"
	"slices"
)

// BlobRef is something that names a blob: a project or a task in one of its fields, a session as its manifest, or an
// entry of a session's or a task's timeline.
type BlobRef struct {
	Kind Kind
	ID   string
}

// BlobRefs returns everything that names a blob, or once named it: references stay in the list after a change.
func (s *State) BlobRefs(digest string) []BlobRef { return s.blobRefs.get(digest) }

// newestRefs is how far back in a blob's list an existing reference is searched: repeated references are at the end.
const newestRefs = 8

// refer adds a reference to a blob.
func (s *State) refer(digest string, ref BlobRef) {
	if digest == "" {
		return
	}
	refs := s.blobRefs.get(digest)
	if !slices.Contains(refs[max(0, len(refs)-newestRefs):], ref) {
		s.blobRefs.put(digest, append(refs, ref))
	}
}

// referFrom adds the references of changed values; entries are added when they are placed.
func (s *State) referFrom(changes []Change) {
	for i := range changes {
		switch after := changes[i].After.(type) {
		case *Project:
			if before, _ := changes[i].Before.(*Project); before == nil || !maps.Equal(before.Blobs, after.Blobs) {
				s.referProject(after)
			}
		case *Task:
			if before, _ := changes[i].Before.(*Task); before == nil || before.TaskFields != after.TaskFields {
				s.referTask(after)
			}
		case *Session:
			if before, _ := changes[i].Before.(*Session); before == nil ||
				before.ManifestDigest != after.ManifestDigest {
				s.referSession(after)
			}
		}
	}
}

func (s *State) referProject(p *Project) {
	for _, digest := range p.Blobs {
		s.refer(digest, BlobRef{KindProject, p.ID})
	}
}

func (s *State) referTask(t *Task) {
	for _, digest := range t.Blobs {
		s.refer(digest, BlobRef{KindTask, t.ID})
	}
}

func (s *State) referSession(x *Session) { s.refer(x.ManifestDigest, BlobRef{KindSession, x.ID}) }

// Manifests returns the digests of the manifests that sessions have or had, each with the first of these sessions. It
// is for a state that is no copy of another.
func (s *State) Manifests() map[string]string {
	manifests := map[string]string{}
	for digest, refs := range s.blobRefs.rows {
		for _, ref := range refs {
			if ref.Kind == KindSession {
				manifests[digest] = ref.ID
				break
			}
		}
	}
	return manifests
}
