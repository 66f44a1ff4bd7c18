package events

import (
	"fmt"
	"strings"
)

// Entry ties a literal type name to its payload.
type Entry struct {
	// Type is the literal name that is stored.
	Type string
	// New makes an empty payload to decode into.
	New func() Data
	// Commands are the ids of the commands that it comes from.
	Commands string
	// Doc says in a line what happened.
	Doc string
}

// Schema gives the dataschema attribute of an event of this type.
func Schema(eventType string) string { return "urn:maestro:schema:" + eventType }

var catalogue = []Entry{
	{"maestro.project.created.v1", func() Data { return new(ProjectCreated) }, "project:create", "A project exists from now on."},
	{"maestro.project.updated.v1", func() Data { return new(ProjectUpdated) }, "project:update", "Fields of a project have new values."},
	{"maestro.project.deleted.v1", func() Data { return new(ProjectDeleted) }, "project:delete", "A project is gone from the views."},
	{"maestro.task.created.v1", func() Data { return new(TaskCreated) }, "task:create", "A task exists from now on, with status todo."},
	{"maestro.task.updated.v1", func() Data { return new(TaskUpdated) }, "task:update", "Fields of a task, and perhaps its status, have new values."},
	{"maestro.task.status_changed.v1", func() Data { return new(TaskStatusChanged) }, "task:complete, task:block, task:reopen", "A user or an orchestrator moved a task's status."},
	{"maestro.task.deleted.v1", func() Data { return new(TaskDeleted) }, "task:delete", "A task is gone from the views."},
	{"maestro.session.spawned.v1", func() Data { return new(SessionSpawned) }, "session:spawn", "A session was ordered, its permissions frozen, its tasks started."},
	{"maestro.session.registered.v1", func() Data { return new(SessionRegistered) }, "session:register", "A session reported for work."},
	{"maestro.session.updated.v1", func() Data { return new(SessionUpdated) }, "session:update", "Fields of a session have new values."},
	{"maestro.session.completed.v1", func() Data { return new(SessionCompleted) }, "session:complete", "A session said that it is done."},
	{"maestro.session.killed.v1", func() Data { return new(SessionKilled) }, "session:kill", "A session was ended."},
	{
		"maestro.session.deleted.v1",
		func() Data { return new(SessionDeleted) },
		"session:delete",
		"A session is gone from the views.",
	},
	{
		"maestro.session.reported.v1",
		func() Data { return new(SessionReported) },
		"report:progress, report:complete, report:blocked, report:error, report:needs-input",
		"An agent said how its work goes; sessionStatus of the named tasks follows.",
	},
	{
		"maestro.session.noted.v1",
		func() Data { return new(SessionNoted) },
		"session:note",
		"An entry for a timeline that moves no status.",
	},
	{
		"maestro.session.file_tracked.v1",
		func() Data { return new(SessionFileTracked) },
		"track-file",
		"An agent changed a file.",
	},
	{
		"maestro.session.task_linked.v1",
		func() Data { return new(SessionTaskLinked) },
		"session:link",
		"A task became one of a session's.",
	},
	{
		"maestro.session.task_unlinked.v1",
		func() Data { return new(SessionTaskUnlinked) },
		"session:unlink",
		"A task ceased to be one of a session's.",
	},
	{
		"maestro.session.lost.v1",
		func() Data { return new(SessionLost) },
		"session:lost",
		"A session sent nothing for as long as its lease.",
	},
	{
		"maestro.session.recovered.v1",
		func() Data { return new(SessionRecovered) },
		"session:recovered",
		"A lost session sent something again.",
	},
	{
		"maestro.session.timed_out.v1",
		func() Data { return new(SessionTimedOut) },
		"session:timed-out",
		"A session had its time, and ended as failed.",
	},
	{
		"maestro.queue.created.v1",
		func() Data { return new(QueueCreated) },
		"queue:create",
		"Sessions of a project may pull from a queue of this name.",
	},
	{
		"maestro.queue.item_pushed.v1",
		func() Data { return new(QueueItemPushed) },
		"queue:push",
		"A task was added at the end of a queue.",
	},
	{
		"maestro.queue.item_started.v1",
		func() Data { return new(QueueItemStarted) },
		"queue:start",
		"A session holds an item; its task is in progress and says working.",
	},
	{
		"maestro.queue.item_completed.v1",
		func() Data { return new(QueueItemCompleted) },
		"queue:complete",
		"The holder says that its item is done.",
	},
	{
		"maestro.queue.item_failed.v1",
		func() Data { return new(QueueItemFailed) },
		"queue:fail",
		"The holder says that its item failed.",
	},
	{
		"maestro.queue.item_skipped.v1",
		func() Data { return new(QueueItemSkipped) },
		"queue:skip",
		"An item is passed by.",
	},
	{
		"maestro.queue.item_requeued.v1",
		func() Data { return new(QueueItemRequeued) },
		"queue:requeue",
		"An item went back to the end of its queue, with no attempts.",
	},
	{
		"maestro.queue.item_returned.v1",
		func() Data { return new(QueueItemReturned) },
		"queue:return",
		"An item's holder ended or was lost; the item went back to the front.",
	},
	{
		"maestro.queue.item_quarantined.v1",
		func() Data { return new(QueueItemQuarantined) },
		"queue:quarantine",
		"An item was started too often without an end, and waits for a person.",
	},
	{
		"maestro.input.answered.v1",
		func() Data { return new(InputAnswered) },
		"input:answer",
		"A question of a session has its answer.",
	},
	{
		"maestro.input.delivered.v1",
		func() Data { return new(InputDelivered) },
		"input:received",
		"The answer was shown to the session that asked.",
	},
	{
		"maestro.token.created.v1",
		func() Data { return new(TokenCreated) },
		"token:create",
		"A named token is valid from now on.",
	},
	{
		"maestro.token.revoked.v1",
		func() Data { return new(TokenRevoked) },
		"token:revoke",
		"A named token, or a session's secret, is no longer valid.",
	},
	{
		"maestro.template.created.v1",
		func() Data { return new(TemplateCreated) },
		"template:create",
		"A text that prompts are written by exists from now on.",
	},
	{
		"maestro.template.updated.v1",
		func() Data { return new(TemplateUpdated) },
		"template:update",
		"Fields of a template have new values.",
	},
	{
		"maestro.template.reset.v1",
		func() Data { return new(TemplateReset) },
		"template:reset",
		"A template's workflow is Maestro's own again.",
	},
	{
		"maestro.template.deleted.v1",
		func() Data { return new(TemplateDeleted) },
		"template:delete",
		"A template is gone from the views.",
	},
}

var byType = func() map[string]*Entry {
	m := make(map[string]*Entry, len(catalogue))
	for i := range catalogue {
		m[catalogue[i].Type] = &catalogue[i]
	}
	return m
}()

// Catalogue lists every event type that this version knows, in the order of docs/events.md.
func Catalogue() []Entry { return append([]Entry(nil), catalogue...) }

// UnknownTypeError stops a fold: the log holds an event that this version cannot understand.
type UnknownTypeError struct{ Type string }

func (e *UnknownTypeError) Error() string {
	if at := strings.LastIndex(e.Type, ".v"); at >= 0 {
		for i := range catalogue {
			if strings.HasPrefix(catalogue[i].Type, e.Type[:at+2]) {
				return fmt.Sprintf("event type %q is newer than this version of maestro, which knows %q; use a newer maestro", e.Type, catalogue[i].Type)
			}
		}
	}
	return fmt.Sprintf("event type %q is unknown to this version of maestro; use a newer maestro", e.Type)
}
