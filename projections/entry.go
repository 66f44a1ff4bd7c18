package projections

import (
	"encoding/json"
	"fmt"
	"strings"

	"maestro/events"
)

// entry returns one of the entries that an event adds to timelines, as far as the event alone determines it. The fold
// adds the entries of an event in the order of their index.
func (f fact) entry(index int) Entry {
	e := f.describe(index)
	e.Sequence, e.Index, e.At, e.Source = f.sequence, index, f.at, f.Source
	if !f.OccurredAt.IsZero() {
		e.OccurredAt = f.OccurredAt.UnixMilli()
	}
	return e
}

// TasksOf returns the tasks on whose timelines an event is.
func TasksOf(e *events.Event) (tasks []string) {
	f := fact{Event: e, at: e.Time.UnixMilli()}
	for index := 0; ; index++ {
		switch entry := f.describe(index); {
		case entry.Type == "", index > 0 && entry.TaskID == "":
			return tasks
		case len(tasks) > 0 && tasks[len(tasks)-1] == entry.TaskID: // it names no others after it names one again
			return tasks
		case entry.TaskID != "":
			tasks = append(tasks, entry.TaskID)
		}
	}
}

// describe returns what an entry says. It is empty where the event has no such entry.
func (f fact) describe(index int) Entry {
	switch d := f.Data.(type) {
	case *events.TaskCreated:
		return Entry{
			Type:      "task_created",
			TaskID:    d.TaskID,
			SessionID: f.author(),
			Message:   d.Title,
		}
	case *events.TaskUpdated:
		return f.describeUpdate(d, index)
	case *events.TaskStatusChanged:
		return f.describeStatus(d, index)
	case *events.SessionSpawned:
		if queued := index - 1 - len(d.TaskIDs); queued >= 0 && queued < len(d.Queued) {
			return describeQueued(d.Queued[queued], "Queued in "+d.Queue)
		}
		return describeStart(d.SessionID, d.TaskIDs, index)
	case *events.SessionRegistered:
		if d.Created == nil {
			return Entry{}
		}
		return describeStart(d.SessionID, d.Created.TaskIDs, index)
	case *events.SessionCompleted:
		return Entry{Type: "session_completed", SessionID: d.SessionID, What: "Session completed"}
	case *events.SessionKilled:
		status := string(d.Status)
		return Entry{
			Type:      "session_" + status,
			SessionID: d.SessionID,
			What:      "Session " + status,
			Message:   d.Reason,
		}
	case *events.SessionLost:
		return Entry{
			Type:      EntryLost,
			SessionID: d.SessionID,
			What:      fmt.Sprintf("Session lost: it was last heard %d s before", (f.at-d.LastHeard)/1000),
		}
	case *events.SessionRecovered:
		return Entry{Type: EntryRecovered, SessionID: d.SessionID, What: "Session heard again"}
	case *events.SessionTimedOut:
		return Entry{
			Type:      "session_failed",
			SessionID: d.SessionID,
			What:      "Session failed",
			Message:   "timed out",
		}
	case *events.SessionClaimed:
		return describeClaimed(d)
	case *events.SessionExited:
		return describeExited(d)
	case *events.SandboxBlocked:
		return describeBlocked(d)
	case *events.PreflightFailed:
		return describePreflight(d)
	case *events.SessionStuck:
		return describeStuck(d)
	case *events.SessionResumed:
		return Entry{
			Type:      EntryResumed,
			SessionID: d.SessionID,
			What:      fmt.Sprintf("Session resumed: run %d may begin", d.Run),
		}
	case *events.SessionMessaged:
		return Entry{
			Type:      typeMessage,
			SessionID: d.SessionID,
			TaskID:    d.About,
			What:      "Message",
			Message:   d.Text,
		}
	case *events.SessionReported:
		return describeReport(d, index)
	case *events.SessionNoted:
		return Entry{
			Type:      d.Type,
			SessionID: d.SessionID,
			TaskID:    d.TaskID,
			Message:   d.Message,
			Blob:      d.Blobs["message"],
			Data:      d.Data,
			Bare:      d.Message == "",
		}
	case *events.SessionFileTracked:
		return f.describeFile(d)
	case *events.SessionTaskLinked:
		return Entry{
			Type:      "task_started",
			SessionID: d.SessionID,
			TaskID:    d.TaskID,
			What:      "Added task to session",
		}
	case *events.SessionTaskUnlinked:
		return Entry{
			Type:      TypeUnlinked,
			SessionID: d.SessionID,
			TaskID:    d.TaskID,
			What:      "Removed task from session",
		}
	case *events.InputAnswered:
		e := Entry{
			Type:      typeAnswered,
			SessionID: d.SessionID,
			What:      "Answered",
			Message:   d.Answer,
			InputID:   d.InputID,
		}
		if index < len(d.TaskIDs) {
			e.TaskID = d.TaskIDs[index]
		}
		return e
	case *events.QueueItemPushed:
		return describeQueued(d.TaskID, "Queued in "+d.Queue)
	case *events.QueueItemStarted:
		return describeItem("task_started", d.SessionID, d.TaskID, "Started from queue "+d.Queue)
	case *events.QueueItemCompleted:
		return describeItem("task_completed", d.SessionID, d.TaskID, "Completed in queue "+d.Queue)
	case *events.QueueItemFailed:
		e := describeItem(typeFailed, d.SessionID, d.TaskID, "Failed in queue "+d.Queue)
		e.Message = d.Reason
		return e
	case *events.QueueItemSkipped:
		e := describeItem(typeSkipped, d.SessionID, d.TaskID, "Skipped in queue "+d.Queue)
		e.Message = d.Reason
		return e
	case *events.QueueItemRequeued:
		e := describeQueued(d.TaskID, "Queued again in "+d.Queue)
		e.Message = d.Reason
		return e
	case *events.QueueItemReturned:
		return describeItem("task_returned", d.SessionID, d.TaskID,
			"Back to the front of queue "+d.Queue+": its session is "+d.Reason)
	case *events.QueueItemQuarantined:
		return describeItem("task_quarantined", d.SessionID, d.TaskID, fmt.Sprintf(
			"Quarantined in queue %s after %d starts: its last session is %s", d.Queue, d.Attempt, d.Reason,
		))
	case *events.QueueItemMoved:
		return describeQueued(d.TaskID, "Moved in "+d.Queue)
	case *events.QueueItemRemoved:
		return describeQueued(d.TaskID, "Removed from "+d.Queue)
	case *events.ProjectCreated, *events.ProjectUpdated, *events.ProjectDeleted, *events.TaskDeleted,
		*events.SessionUpdated, *events.SessionDeleted, *events.InputDelivered, *events.QueueCreated,
		*events.QueueDeleted, *events.TokenCreated, *events.TokenRevoked, *events.TemplateCreated,
		*events.TemplateUpdated, *events.TemplateReset, *events.TemplateDeleted, *events.TokenUsed,
		*events.TextRedacted, *events.WebhookCreated, *events.WebhookUpdated, *events.WebhookDeleted,
		*events.WebhookParked, *events.WebhookResumed, *events.SessionUsed:
	}
	return Entry{}
}

// describeStart describes the entries of a new session: its creation, and each of its tasks.
func describeStart(session string, tasks []string, index int) Entry {
	switch {
	case index == 0:
		return Entry{Type: "session_started", SessionID: session, What: "Session created"}
	case index <= len(tasks):
		return Entry{
			Type:      "task_started",
			SessionID: session,
			TaskID:    tasks[index-1],
			What:      "Started working on task",
		}
	}
	return Entry{}
}

func describeQueued(task, what string) Entry {
	return Entry{Type: "task_queued", TaskID: task, What: what}
}

func describeItem(kind, session, task, what string) Entry {
	return Entry{
		Type:      kind,
		SessionID: session,
		TaskID:    task,
		What:      what,
	}
}

// describeUpdate describes the entries of an update: the changed fields if there are any, and a change of the status.
func (f fact) describeUpdate(d *events.TaskUpdated, index int) Entry {
	if fields := strings.Join(d.Fields(), ", "); fields != "" {
		if index == 0 {
			return Entry{Type: "task_updated", TaskID: d.TaskID, What: fields}
		}
		index--
	}
	if d.Status == nil || index > 0 {
		return Entry{}
	}
	return f.describeMove(d.TaskID, d.Status.To, "", d.Forced)
}

// describeStatus describes the entries of a change of a task's status: the change, and what the session that works on
// the task is told. The state knows that session.
func (f fact) describeStatus(d *events.TaskStatusChanged, index int) Entry {
	if index == 0 {
		e := f.describeMove(d.TaskID, d.To, d.Reason, d.Forced)
		e.Reopens = d.To == events.TaskInProgress && d.Reason != ""
		return e
	}
	return Entry{
		Type:    typeReopened,
		TaskID:  d.TaskID,
		Apart:   true,
		Message: d.Reason,
	}
}

// describeMove describes a change of a task's status, on the timelines of the task and of the orchestrator session that
// made it.
func (f fact) describeMove(task string, to events.TaskStatus, reason string, forced bool) Entry {
	what := movedTo(to)
	if forced {
		what += " (forced)"
	}
	return Entry{
		Type:      "task_status_changed",
		TaskID:    task,
		SessionID: f.author(),
		What:      what,
		Message:   reason,
	}
}

func movedTo(to events.TaskStatus) string { return "Status changed to " + string(to) }

// describeReport describes a report, on each of its tasks.
func describeReport(d *events.SessionReported, index int) Entry {
	e := Entry{
		Type:      reportType(d.Kind),
		SessionID: d.SessionID,
		Message:   d.Message,
		InputID:   d.InputID,
		Blob:      d.Blobs["message"],
		Late:      d.Late,
	}
	if index < len(d.TaskIDs) {
		e.TaskID = d.TaskIDs[index]
	}
	return e
}

// trackedFile is the data of a file's entry.
type trackedFile struct {
	File      string `json:"file"`
	Timestamp string `json:"timestamp"`
}

// FileOf returns the file that an entry says was changed, "" if it says something else.
func FileOf(e *Entry) string {
	var d trackedFile
	if e.Type != TypeFile || json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.File
}

// describeFile describes a tracked file, for older clients.
func (f fact) describeFile(d *events.SessionFileTracked) Entry {
	said := f.Time
	if !f.OccurredAt.IsZero() {
		said = f.OccurredAt
	}
	tracked := trackedFile{d.File, said.Format("2006-01-02T15:04:05.000Z")}
	data, _ := json.Marshal(tracked) //nolint:errchkjson // two texts can always be written
	return Entry{
		Type:      TypeFile,
		SessionID: d.SessionID,
		TaskID:    d.TaskID,
		Data:      data,
		Bare:      true,
	}
}
