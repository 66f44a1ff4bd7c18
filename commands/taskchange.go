package commands

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"maestro/events"
	"maestro/projections"
)

// onlyChanges leaves out of an update what the task has already, so that the event says what changed.
func onlyChanges(t *projections.Task, update *events.TaskUpdated) *events.TaskUpdated {
	kept := *update
	dropSame(&kept.Title, t.Title)
	dropSame(&kept.Priority, t.Priority)
	dropSame(&kept.Model, t.Model)
	dropSame(&kept.ParentID, t.ParentID)
	dropSame(&kept.PlanID, t.PlanID)
	dropSameList(&kept.AcceptanceCriteria, t.AcceptanceCriteria)
	dropSameList(&kept.Dependencies, t.Dependencies)
	dropSameList(&kept.SkillIDs, t.SkillIDs)
	dropSameList(&kept.AgentIDs, t.AgentIDs)
	dropSameList(&kept.Labels, t.Labels)
	dropSameText(&kept, "description", &kept.Description, t.Description, t)
	dropSameText(&kept, "initialPrompt", &kept.InitialPrompt, t.InitialPrompt, t)
	if sameObject(kept.Metadata, t.Metadata) {
		kept.Metadata = nil
	}
	return &kept
}

func dropSame(given **string, has string) {
	if *given != nil && **given == has {
		*given = nil
	}
}

func dropSameList(given **[]string, has []string) {
	if *given != nil && slices.Equal(**given, has) {
		*given = nil
	}
}

// dropSameText is dropSame for a text that may be in the blobs: then the digests are compared too.
func dropSameText(update *events.TaskUpdated, field string, given **string, has string, t *projections.Task) {
	if *given == nil || **given != has || update.Blobs[field] != t.Blobs[field] {
		return
	}
	*given = nil
	if _, long := update.Blobs[field]; !long {
		return
	}
	update.Blobs = maps.Clone(update.Blobs)
	if delete(update.Blobs, field); len(update.Blobs) == 0 {
		update.Blobs = nil
	}
}

// sameObject compares free JSON by its text without spaces; an empty object is the same as none.
func sameObject(given, has json.RawMessage) bool {
	plain := func(raw json.RawMessage) string {
		var b bytes.Buffer
		if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "{}" {
			return ""
		}
		return b.String()
	}
	return given != nil && plain(given) == plain(has)
}
