package commands

import (
	"fmt"

	"maestro/events"
)

// CommandOf gives the command that an event came from: decided again on the state before the event, it gives the event's
// data again. That is how the audit shows that each event was permitted.
func CommandOf(e *events.Event) (Command, error) {
	in := In{Project: e.Project}
	switch d := e.Data.(type) {
	case *events.ProjectCreated:
		return &CreateProject{Name: d.Name, WorkingDir: d.WorkingDir, Description: d.Description, blobs: d.Blobs}, nil
	case *events.ProjectUpdated:
		return &UpdateProject{ProjectID: d.ProjectID, Name: d.Name, WorkingDir: d.WorkingDir, Description: d.Description, blobs: d.Blobs}, nil
	case *events.ProjectDeleted:
		return &DeleteProject{ProjectID: d.ProjectID}, nil
	case *events.TaskCreated:
		return &CreateTask{
			In: in, Title: d.Title, Description: d.Description, AcceptanceCriteria: d.AcceptanceCriteria, Priority: d.Priority,
			ParentID: d.ParentID, Dependencies: d.Dependencies, InitialPrompt: d.InitialPrompt, SkillIDs: d.SkillIDs, Model: d.Model,
			Metadata: d.Metadata, blobs: d.Blobs,
		}, nil
	case *events.TaskUpdated:
		update := &UpdateTask{
			In: in, TaskID: d.TaskID, Title: d.Title, Description: d.Description, AcceptanceCriteria: d.AcceptanceCriteria,
			Priority: d.Priority, Dependencies: d.Dependencies, SkillIDs: d.SkillIDs, AgentIDs: d.AgentIDs, Model: d.Model,
			Metadata: d.Metadata, blobs: d.Blobs,
		}
		if d.Status != nil {
			update.Status = &d.Status.To
		}
		return update, nil
	case *events.TaskStatusChanged:
		switch d.To {
		case events.TaskCompleted:
			return &CompleteTask{In: in, TaskID: d.TaskID}, nil
		case events.TaskBlocked:
			return &BlockTask{In: in, TaskID: d.TaskID, Reason: d.Reason}, nil
		case events.TaskInProgress:
			return &ReopenTask{In: in, TaskID: d.TaskID, Reason: d.Reason}, nil
		case events.TaskTodo, events.TaskCancelled:
		}
		return nil, fmt.Errorf("no command moves a task to %q in this way", d.To)
	case *events.TaskDeleted:
		return &DeleteTask{In: in, TaskID: d.TaskID, Recursive: d.Recursive}, nil
	case *events.SessionSpawned:
		queue := d.Queue
		if queue == d.SessionID {
			queue = ""
		}
		return &SpawnSession{
			Queue: queue, Timeout: d.Timeout, In: in, Name: d.Name, Role: d.Role, Strategy: d.Strategy, TaskIDs: d.TaskIDs, Allowed: listOfPermissions(d.Permissions),
			Strict: d.Strict, Model: d.Model, Agent: d.Agent, Skills: d.Skills, Context: d.Context, ManifestDigest: d.ManifestDigest,
			SpawnedBy: d.SpawnedBy,
		}, nil
	case *events.SessionRegistered:
		if c := d.Created; c != nil {
			return &RegisterSession{
				In: in, SessionID: d.SessionID, Create: true, Name: c.Name, Role: c.Role, Strategy: c.Strategy, Status: c.Status,
				TaskIDs: c.TaskIDs, Allowed: listOfPermissions(c.Permissions), Env: c.Env, Metadata: c.Metadata, AgentID: c.AgentID,
				ManifestDigest: d.ManifestDigest,
			}, nil
		}
		if d.ManifestDigest != "" {
			return &InitSession{In: in, Role: d.Role, SessionID: d.SessionID, ManifestDigest: d.ManifestDigest}, nil
		}
		return &RegisterSession{In: in, SessionID: d.SessionID}, nil
	case *events.SessionUpdated:
		return &UpdateSession{In: in, SessionID: d.SessionID, Name: d.Name, Status: d.Status, AgentID: d.AgentID, TaskIDs: d.TaskIDs, Env: d.Env, ManifestDigest: d.ManifestDigest}, nil
	case *events.SessionCompleted:
		return &CompleteSession{In: in, SessionID: d.SessionID}, nil
	case *events.SessionKilled:
		return &KillSession{In: in, SessionID: d.SessionID, Reason: d.Reason, Failed: d.Status == events.SessionEndFailed}, nil
	case *events.SessionDeleted:
		return &DeleteSession{In: in, SessionID: d.SessionID}, nil
	case *events.SessionReported:
		return &Report{In: in, Kind: d.Kind, Message: d.Message, TaskIDs: d.TaskIDs, Options: d.Options, blobs: d.Blobs}, nil
	case *events.SessionNoted:
		return &NoteSession{In: in, SessionID: d.SessionID, Type: d.Type, Message: d.Message, TaskID: d.TaskID, Data: d.Data, blobs: d.Blobs}, nil
	case *events.SessionFileTracked:
		return &TrackFile{In: in, SessionID: d.SessionID, File: d.File, TaskID: d.TaskID}, nil
	case *events.SessionTaskLinked:
		return &LinkTask{In: in, SessionID: d.SessionID, TaskID: d.TaskID}, nil
	case *events.SessionTaskUnlinked:
		return &UnlinkTask{In: in, SessionID: d.SessionID, TaskID: d.TaskID}, nil
	case *events.SessionLost:
		return &LoseSession{SessionID: d.SessionID, SilentFor: e.Time.UnixMilli() - d.LastHeard, Lease: d.Lease}, nil
	case *events.SessionRecovered:
		return &RecoverSession{SessionID: d.SessionID}, nil
	case *events.SessionTimedOut:
		return &TimeOutSession{SessionID: d.SessionID}, nil
	case *events.QueueCreated:
		return &CreateQueue{In: in, Queue: d.Queue, TrustReports: d.TrustReports, MaxAttempts: d.MaxAttempts}, nil
	case *events.QueueItemPushed:
		return &PushItem{OfQueue: queueOf(e, d.Queue, ""), TaskID: d.TaskID}, nil
	case *events.QueueItemStarted:
		return &StartItem{OfQueue: queueOf(e, d.Queue, d.SessionID)}, nil
	case *events.QueueItemCompleted:
		return &CompleteItem{OfQueue: queueOf(e, d.Queue, d.SessionID), TaskID: d.TaskID}, nil
	case *events.QueueItemFailed:
		return &FailItem{OfQueue: queueOf(e, d.Queue, d.SessionID), TaskID: d.TaskID, Reason: d.Reason}, nil
	case *events.QueueItemSkipped:
		skip := &SkipItem{OfQueue: queueOf(e, d.Queue, d.SessionID)}
		if d.Held {
			skip.TaskID = d.TaskID
		}
		return skip, nil
	case *events.QueueItemRequeued:
		return &RequeueItem{In: in, Queue: d.Queue, TaskID: d.TaskID}, nil
	case *events.QueueItemReturned:
		return &ReturnItem{In: in, Queue: d.Queue, TaskID: d.TaskID}, nil
	case *events.QueueItemQuarantined:
		return &QuarantineItem{In: in, Queue: d.Queue, TaskID: d.TaskID}, nil
	case *events.InputAnswered:
		return &AnswerInput{InputID: d.InputID, Answer: d.Answer, Other: d.Other}, nil
	case *events.InputDelivered:
		return &ReceiveInput{InputID: d.InputID}, nil
	case *events.TokenCreated:
		return &CreateToken{Name: d.Name, Kind: d.Kind, ProjectIDs: d.ProjectIDs, ExpiresAt: d.ExpiresAt}, nil
	case *events.TemplateCreated:
		return &CreateTemplate{Name: d.Name, Role: d.Role, Content: d.Content}, nil
	case *events.TemplateUpdated:
		return &UpdateTemplate{TemplateID: d.TemplateID, Name: d.Name, Content: d.Content}, nil
	case *events.TemplateReset:
		return &ResetTemplate{TemplateID: d.TemplateID}, nil
	case *events.TemplateDeleted:
		return &DeleteTemplate{TemplateID: d.TemplateID}, nil
	case *events.TokenRevoked:
		keep := d.SessionID == "" && len(d.Children) == 0
		return &RevokeToken{Name: d.Name, SessionID: d.SessionID, KeepChildren: keep}, nil
	}
	return nil, fmt.Errorf("no command becomes a %s", e.Data.EventType())
}

// queueOf gives how a command on a queue names it: a user by name, or by the session that it acts for.
func queueOf(e *events.Event, queue, session string) OfQueue {
	named := OfQueue{In: In{Project: e.Project}, SessionID: session}
	if session == "" {
		named.Queue = queue
	}
	return named
}

func listOfPermissions(p events.Permissions) *[]string {
	if !p.Explicit {
		return nil
	}
	return &p.Commands
}
