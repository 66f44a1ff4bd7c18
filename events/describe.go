package events

import (
	"fmt"
	"strings"
)

// Describe says in a line of words what happened, for people.
func Describe(data Data) string {
	switch d := data.(type) {
	case *ProjectCreated:
		return fmt.Sprintf("created project %s %q", d.ProjectID, d.Name)
	case *ProjectUpdated:
		return "updated project " + d.ProjectID
	case *ProjectDeleted:
		return "deleted project " + d.ProjectID
	case *TaskCreated:
		return fmt.Sprintf("created task %s %q", d.TaskID, d.Title) + prefixed(" below ", d.ParentID) +
			prefixed(" after ", strings.Join(d.Dependencies, ", "))
	case *TaskUpdated:
		if d.Status != nil {
			return fmt.Sprintf("updated %s: %s → %s", d.TaskID, d.Status.From, d.Status.To)
		}
		return "updated " + d.TaskID
	case *TaskStatusChanged:
		return fmt.Sprintf("moved %s: %s → %s", d.TaskID, d.From, d.To) + prefixed(": ", d.Reason)
	case *TaskDeleted:
		return "deleted task " + d.TaskID + prefixed(" and all below it: ", strings.Join(d.Descendants, ", "))
	case *SessionReported:
		return describeReport(d)
	}
	return describeSession(data)
}

func describeReport(d *SessionReported) string {
	words := "reported " + string(d.Kind)
	if len(d.TaskIDs) > 0 {
		words += " on " + strings.Join(d.TaskIDs, ", ")
	}
	words += prefixed(": ", d.Message)
	if d.InputID != "" {
		words += " (question " + d.InputID + ")"
	}
	if d.SessionCompleted {
		words += " (the session is completed)"
	}
	if d.Late {
		words += " (late)"
	}
	return words
}

func describeSession(data Data) string {
	switch d := data.(type) {
	case *SessionSpawned:
		return fmt.Sprintf("spawned %s %s %q (%s strategy)", d.Role, d.SessionID, d.Name, d.Strategy) + prefixed(" for ", strings.Join(d.TaskIDs, ", "))
	case *SessionRegistered:
		if d.Created != nil {
			return fmt.Sprintf("registered new %s %s %q", d.Created.Role, d.SessionID, d.Created.Name)
		}
		return "registered session " + d.SessionID
	case *SessionUpdated:
		return "updated session " + d.SessionID
	case *SessionCompleted:
		return "completed session " + d.SessionID
	case *SessionKilled:
		return fmt.Sprintf("ended session %s as %s", d.SessionID, d.Status) + prefixed(": ", d.Reason)
	case *SessionDeleted:
		return "deleted session " + d.SessionID
	case *SessionNoted:
		return "noted " + d.Type + prefixed(" on ", d.TaskID) + prefixed(": ", d.Message)
	case *SessionFileTracked:
		return "changed file " + d.File + prefixed(" for ", d.TaskID)
	case *SessionTaskLinked:
		return "linked task " + d.TaskID + " to session " + d.SessionID
	case *SessionTaskUnlinked:
		return "unlinked task " + d.TaskID + " from session " + d.SessionID
	}
	return describeQueue(data)
}

func describeQueue(data Data) string {
	in := func(queue string) string { return " in queue " + queue }
	switch d := data.(type) {
	case *QueueCreated:
		return "created queue " + d.Queue
	case *QueueItemPushed:
		return "pushed " + d.TaskID + " to queue " + d.Queue
	case *QueueItemStarted:
		words := "started " + d.TaskID + in(d.Queue) + " for " + d.SessionID
		if d.Attempt > 1 {
			words += fmt.Sprintf(", attempt %d", d.Attempt)
		}
		return words
	case *QueueItemCompleted:
		return "completed " + d.TaskID + in(d.Queue)
	case *QueueItemFailed:
		return "failed " + d.TaskID + in(d.Queue) + prefixed(": ", d.Reason)
	case *QueueItemSkipped:
		return "skipped " + d.TaskID + in(d.Queue)
	case *QueueItemRequeued:
		return "queued " + d.TaskID + " again" + in(d.Queue)
	case *QueueItemReturned:
		return "gave " + d.TaskID + " back to the front of queue " + d.Queue + ": " + d.SessionID + " is " + d.Reason
	case *QueueItemQuarantined:
		return fmt.Sprintf("quarantined %s in queue %s after %d starts: %s is %s", d.TaskID, d.Queue, d.Attempt, d.SessionID, d.Reason)
	}
	return describeOther(data)
}

func describeOther(data Data) string {
	switch d := data.(type) {
	case *SessionLost:
		return fmt.Sprintf("lost session %s: nothing heard of it for %d s", d.SessionID, d.Lease/1000)
	case *SessionRecovered:
		return "heard session " + d.SessionID + " again"
	case *SessionTimedOut:
		return "ended session " + d.SessionID + " as failed: its time was over"
	case *InputAnswered:
		return "answered " + d.InputID + " of " + d.SessionID + ": " + d.Answer
	case *InputDelivered:
		return "received the answer to " + d.InputID
	case *TokenCreated:
		return fmt.Sprintf("created the %s token %q", d.Kind, d.Name)
	case *TokenRevoked:
		if d.SessionID != "" {
			return "revoked the secret of session " + d.SessionID
		}
		if len(d.Children) > 0 {
			return fmt.Sprintf("revoked the token %q and those that it made: %s", d.Name, strings.Join(d.Children, ", "))
		}
		return fmt.Sprintf("revoked the token %q", d.Name)
	}
	return describeTemplate(data)
}

func describeTemplate(data Data) string {
	switch d := data.(type) {
	case *TemplateCreated:
		return fmt.Sprintf("created template %s %q", d.TemplateID, d.Name)
	case *TemplateUpdated:
		return "updated template " + d.TemplateID
	case *TemplateReset:
		return "reset template " + d.TemplateID
	case *TemplateDeleted:
		return "deleted template " + d.TemplateID
	}
	kind, id := data.Aggregate()
	return data.EventType() + " " + kind + "/" + id
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
