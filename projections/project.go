package projections

import (
	"iter"

	"maestro/events"
)

// Project is the state of a project. Times are milliseconds since 1970. Immutable.
type Project struct {
	ID          string
	Name        string
	WorkingDir  string
	Description string
	CreatedAt   int64
	UpdatedAt   int64
	// CreatedBy is the source of the event that created it: an orchestrator may work in projects that it created.
	CreatedBy string
	// Root is the project whose quotas count it: see [State.Root]. It is derived from CreatedBy.
	Root    string `json:"-"`
	Blobs   events.Blobs
	Deleted bool
	// Number is its place among all projects, from 1. It is derived from the order of creation.
	Number int `json:"-"`
	// Tasks and Sessions count those that are not deleted.
	Tasks, Sessions int
}

// Project returns the project, or nil when there is none or it was deleted.
func (s *State) Project(id string) *Project {
	if p := s.projects.get(id); p != nil && !p.Deleted {
		return p
	}
	return nil
}

// ProjectExisted reports whether there is or was such a project: the history of a deleted one remains.
func (s *State) ProjectExisted(id string) bool { return s.projects.get(id) != nil }

// ProjectIDs returns the projects in order of creation, including deleted ones. The list does not change.
func (s *State) ProjectIDs() []string { return s.projectIDs }

// ProjectEver returns a project, including a deleted one, or nil.
func (s *State) ProjectEver(id string) *Project { return s.projects.get(id) }

// Projects returns the projects in order of creation.
func (s *State) Projects() iter.Seq[*Project] {
	return func(yield func(*Project) bool) {
		for _, id := range s.projectIDs {
			if p := s.Project(id); p != nil && !yield(p) {
				return
			}
		}
	}
}

// number returns the number of a project, 0 if there is none.
func (s *State) number(id string) uint32 {
	if p := s.projects.get(id); p != nil {
		return uint32(p.Number) //nolint:gosec // a number of projects
	}
	return 0
}

func (s *State) putProject(after *Project) {
	before := s.projects.get(after.ID)
	s.changes = append(s.changes, Change{KindProject, after.ID, before, after})
	s.projects.put(after.ID, after)
	s.countMade(before, after)
}

// changeProject copies the project, lets edit change the copy, and stores it.
func (s *State) changeProject(id string, edit func(*Project)) {
	after := *s.projects.get(id)
	edit(&after)
	s.putProject(&after)
}

func (s *State) projectCreated(f fact, d *events.ProjectCreated) error {
	if s.projects.get(d.ProjectID) != nil {
		return exists("project", d.ProjectID)
	}
	s.putProject(&Project{
		ID:          d.ProjectID,
		Name:        d.Name,
		WorkingDir:  d.WorkingDir,
		Description: d.Description,
		Blobs:       d.Blobs,
		CreatedAt:   f.at,
		UpdatedAt:   f.at,
		CreatedBy:   f.Source,
		Root:        s.rootFor(f.Source, d.ProjectID),
		Number:      len(s.projectIDs) + 1,
	})
	s.projectIDs = append(s.projectIDs, d.ProjectID)
	return nil
}

func (s *State) projectUpdated(f fact, d *events.ProjectUpdated) error {
	if s.Project(d.ProjectID) == nil {
		return missing("project", d.ProjectID)
	}
	s.changeProject(d.ProjectID, func(p *Project) {
		set(&p.Name, d.Name)
		set(&p.WorkingDir, d.WorkingDir)
		set(&p.Description, d.Description)
		p.Blobs = mergeBlobs(p.Blobs, d.Blobs, "description", d.Description != nil)
		p.UpdatedAt = f.at
	})
	return nil
}

func (s *State) projectDeleted(f fact, d *events.ProjectDeleted) error {
	if s.Project(d.ProjectID) == nil {
		return missing("project", d.ProjectID)
	}
	s.changeProject(d.ProjectID, func(p *Project) {
		p.Deleted, p.UpdatedAt = true, f.at
	})
	return nil
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// mergeBlobs replaces the digest of one field if that field has a new value, and keeps the others.
func mergeBlobs(have, given events.Blobs, field string, changed bool) events.Blobs {
	if !changed || have[field] == given[field] {
		return have
	}
	merged := make(events.Blobs, len(have)+1)
	for name, digest := range have {
		merged[name] = digest
	}
	delete(merged, field)
	if digest := given[field]; digest != "" {
		merged[field] = digest
	}
	return merged
}
