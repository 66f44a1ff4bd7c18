package commands

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// onlyChanges removes from an update what the task has already, so that the event holds only the changes.
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

// dropSameText is dropSame for a text that may be a blob: then it compares the digests too.
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

// sameObject compares free JSON by its values, not by its form; an empty object equals none.
func sameObject(given, has json.RawMessage) bool {
	if given == nil {
		return false
	}
	a, b := map[string]any{}, map[string]any{}
	return readFree(given, &a) && readFree(has, &b) && sameValue(a, b)
}

func readFree(raw json.RawMessage, into *map[string]any) bool {
	if len(raw) == 0 {
		return true
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into) == nil
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	}
	return a == b
}

// sameNumber compares whole numbers by their digits, so that large ones stay distinct, and others by value.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a.String()+b.String(), ".eE") {
		return false
	}
	x, err := a.Float64()
	if err != nil {
		return false
	}
	y, err := b.Float64()
	return err == nil && x == y
}
