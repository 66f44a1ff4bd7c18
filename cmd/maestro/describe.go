package main

import (
	"fmt"
	"strings"

	"maestro/events"
)

// describe says in words what happened.
func describe(data events.Data) string {
	switch d := data.(type) {
	case *events.ProjectCreated:
		return fmt.Sprintf("created project %s %q", d.ProjectID, d.Name)
	case *events.ProjectUpdated:
		return "updated project " + d.ProjectID
	case *events.ProjectDeleted:
		return "deleted project " + d.ProjectID
	case *events.TaskCreated:
		return fmt.Sprintf("created task %s %q", d.TaskID, d.Title) + prefixed(" below ", d.ParentID) +
			prefixed(" after ", strings.Join(d.Dependencies, ", "))
	case *events.TaskUpdated:
		if d.Status != nil {
			return fmt.Sprintf("updated %s: %s → %s", d.TaskID, d.Status.From, d.Status.To)
		}
		return "updated " + d.TaskID
	case *events.TaskStatusChanged:
		return fmt.Sprintf("moved %s: %s → %s", d.TaskID, d.From, d.To) + prefixed(": ", d.Reason)
	case *events.TaskDeleted:
		return "deleted task " + d.TaskID + prefixed(" and all below it: ", strings.Join(d.Descendants, ", "))
	case *events.SessionReported:
		return describeReport(d)
	}
	return describeSession(data)
}

func describeReport(d *events.SessionReported) string {
	words := "reported " + string(d.Kind)
	if len(d.TaskIDs) > 0 {
		words += " on " + strings.Join(d.TaskIDs, ", ")
	}
	words += prefixed(": ", d.Message)
	if d.SessionCompleted {
		words += " (the session is completed)"
	}
	if d.Late {
		words += " (late)"
	}
	return words
}

func describeSession(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionSpawned:
		return fmt.Sprintf("spawned %s %s %q (%s strategy)", d.Role, d.SessionID, d.Name, d.Strategy) + prefixed(" for ", strings.Join(d.TaskIDs, ", "))
	case *events.SessionRegistered:
		if d.Created != nil {
			return fmt.Sprintf("registered new %s %s %q", d.Created.Role, d.SessionID, d.Created.Name)
		}
		return "registered session " + d.SessionID
	case *events.SessionUpdated:
		return "updated session " + d.SessionID
	case *events.SessionCompleted:
		return "completed session " + d.SessionID
	case *events.SessionKilled:
		return fmt.Sprintf("ended session %s as %s", d.SessionID, d.Status) + prefixed(": ", d.Reason)
	case *events.SessionDeleted:
		return "deleted session " + d.SessionID
	case *events.SessionNoted:
		return "noted " + d.Type + prefixed(" on ", d.TaskID) + prefixed(": ", d.Message)
	case *events.SessionFileTracked:
		return "changed file " + d.File + prefixed(" for ", d.TaskID)
	case *events.SessionTaskLinked:
		return "linked task " + d.TaskID + " to session " + d.SessionID
	case *events.SessionTaskUnlinked:
		return "unlinked task " + d.TaskID + " from session " + d.SessionID
	}
	kind, id := data.Aggregate()
	return data.EventType() + " " + kind + "/" + id
}
